// A node's stream to the coordinator: carries control messages both ways, and opens the stream again when it breaks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "ps/core/protocol/messages.h"
#include "ps/runtime/control/control_security.h"
#include "ps/transport/event_loop.h"

namespace attune::ps {

class CoordinatorClient {
 public:
  static constexpr size_t kUnsentMax = 4096;  // messages; further ones are dropped, the cores send again

  // Called on the loop, one at a time.
  struct Events {
    std::function<void()> on_connected;
    std::function<void(const Status& reason)> on_disconnected;
    std::function<void(Message message, uint32_t term)> on_message;  // of the coordinator that sent it
  };

  // Dials `address` (host:port), or the one of the last Redirect, until destroyed. `loop` must outlive the client.
  static std::unique_ptr<CoordinatorClient> Start(const std::string& address, EventLoop& loop, Events events,
                                                  const ControlSecurity& security = {});
  // Sends what is queued if that takes no longer than a second, and ends the stream. No event comes afterwards. Not
  // from the loop's thread.
  virtual ~CoordinatorClient() = default;

  // Any thread; does not block. Dropped when not connected.
  virtual void Send(const Message& message) = 0;
  // Any thread. The coordinator is there from now on: ends the stream to the old one.
  virtual void Redirect(const std::string& address) = 0;
  // Why there is no connection, for messages to people; OK while there is one.
  virtual Status last_error() const = 0;
};

}  // namespace attune::ps
