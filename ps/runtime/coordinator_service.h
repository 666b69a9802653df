// The coordinator's gRPC server: numbers the connections of nodes and carries their control messages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "ps/core/coordinator_core.h"
#include "ps/runtime/control_security.h"
#include "ps/transport/event_loop.h"

namespace attune::ps {

class CoordinatorService {
 public:
  static constexpr size_t kUnsentMax = 16384;  // messages per connection; beyond, the connection is closed

  // Called on the loop, one at a time.
  struct Events {
    std::function<void(ConnectionId from, Message message)> on_message;
    std::function<void(ConnectionId connection)> on_closed;
  };

  // Listens at `bind_address`:`port` (0: any free port). A port in use is ResourceExhausted and named in the text.
  // A node of another protocol version, or without the job's certificate and secret where the job has them, is refused
  // here. Certificates that cannot be used are FailedPrecondition. `loop` must outlive the service. Every message it
  // sends carries `term`.
  static StatusOr<std::unique_ptr<CoordinatorService>> Start(const std::string& bind_address, uint16_t port,
                                                             EventLoop& loop, Events events,
                                                             const ControlSecurity& security = {}, uint32_t term = 1);
  // Ends every stream. No event comes afterwards.
  virtual ~CoordinatorService() = default;

  // Any thread. Does nothing for a connection that is gone.
  virtual void Send(ConnectionId to, const Message& message) = 0;
  // Ends the stream after what was sent before.
  virtual void Close(ConnectionId connection) = 0;
  virtual const std::string& address() const = 0;  // host:port really bound
};

}  // namespace attune::ps
