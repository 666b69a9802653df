// The coordinator's gRPC server: numbers the connections of nodes and carries their control messages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "ps/core/coordinator/coordinator_core.h"
#include "ps/runtime/control/control_security.h"
#include "ps/transport/event_loop.h"

namespace attune::ps {

class CoordinatorService {
 public:
  // Per connection: messages and bytes that wait to be sent; beyond, the connection is closed. What a node sends is
  // read one message at a time, the next when the loop has handled the one before.
  static constexpr size_t kUnsentMax = 16384, kUnsentBytesMax = 64 << 20;
  static constexpr size_t kConnectionsMax = 16384;
  // Connections that have not proved yet that they are of the job (base/net/grpc_port.h). More than the nodes of most
  // jobs: all of them dial at the same time when a coordinator takes over.
  static constexpr size_t kStrangersMax = 1024;

  // Called on the loop, one at a time.
  struct Events {
    std::function<void(ConnectionId from, Message message)> on_message;
    std::function<void(ConnectionId connection)> on_closed;
  };

  // Listens at `bind_address`:`port` (0: any free port). A port in use is ResourceExhausted and named in the text.
  // Nodes of other jobs, and nodes without the job's secret where it has one, are refused here and learn nothing; nodes
  // of another protocol version are informed; any other message that makes no sense ends its stream. Certificates that
  // cannot be used are FailedPrecondition, and so is an address that other machines can reach where `security` has
  // neither a token nor certificates (ps/transport/tcp/listen_rule.h). `loop` must outlive the service. Every message
  // it sends carries `term`.
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
