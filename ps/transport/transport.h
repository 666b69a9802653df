// How row messages travel between nodes. The cores see messages and the coming and going of links, nothing of sockets.
//
// A message arrives whole or not at all; a broken link loses what was under way, and the cores re-issue it. The
// handshake checks job id, protocol version, data type, byte order and that the right node answers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "ps/core/messages.h"

namespace attune::ps {

class Transport {
 public:
  // What the transport calls, on its own thread, one call at a time.
  struct Events {
    std::function<void(NodeId from, Message message)> on_message;
    std::function<void(NodeId peer)> on_connected;
    // `reason` says why. A link that was dialed is dialed again; FailedPrecondition or InvalidArgument: it was refused
    // for good (wrong job or protocol version) and is not.
    std::function<void(NodeId peer, const Status& reason)> on_disconnected;
  };
  struct Counters {
    uint64_t bytes_sent = 0;
    uint64_t bytes_received = 0;
    uint32_t connections = 0;
  };

  virtual ~Transport() = default;

  // Any thread. Keeps a link to `peer` at `address` (host:port), redialing with backoff and jitter, until Disconnect.
  // The same peer and address again changes nothing; another address redials.
  virtual void Connect(NodeId peer, const std::string& address) = 0;
  virtual void Disconnect(NodeId peer) = 0;
  // Any thread; writes at once when the socket has room, else queues. Unavailable: no link to `peer` now.
  // ResourceExhausted: the peer reads too slowly and too much waits already. Either way the message is gone.
  virtual Status Send(NodeId to, const Message& message) = 0;
  virtual Counters counters() const = 0;
};

}  // namespace attune::ps
