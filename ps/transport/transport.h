// How row messages travel between nodes. The cores see messages and the coming and going of links, nothing of sockets.
//
// A message arrives whole, in order and once while both processes live, also over a connection that broke and came
// back; a process that dies takes a suffix of what was sent to it along. In the handshake both sides prove
// that they know the job's secret; it checks protocol version, data type, byte order and that the right node answers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

// What went over the link to one node, over all its connections.
struct LinkCounters {
  enum Path : uint8_t { kNone, kTcp, kTls, kSharedMemory };
  NodeId peer;
  bool connected = false;
  Path path = kNone;  // of the present connection
  uint64_t connections = 0;
  uint64_t frames_sent = 0, frames_received = 0, frames_resent = 0;
  uint64_t bytes_sent = 0, bytes_received = 0;
  uint64_t frames_waiting = 0, bytes_waiting = 0;  // not sent yet, or sent and not confirmed
  Status dial_error;                               // why the last attempt to connect failed; OK once it succeeds
};

class Transport {
 public:
  // What the transport calls, on its loop, one call at a time.
  struct Events {
    std::function<void(NodeId from, Message message)> on_message;
    // Called instead, when set: with what the sender's core wrote in front of the message.
    std::function<void(NodeId from, const LinkHeader& link, Message message)> on_linked_message;
    std::function<void(NodeId peer)> on_connected;
    // `reason` says why. A link that was dialed is dialed again, whatever the reason: what answers at an address is no
    // proof of what becomes of the peer.
    std::function<void(NodeId peer, const Status& reason)> on_disconnected;
    // Where the rows that answer this pull belong, all in one piece; empty: nowhere yet. May be null. What is named
    // here is written to until the message has been handed over, or Unplace has returned.
    std::function<std::span<float>(NodeId from, RequestId request, size_t values)> place;
  };
  struct Counters {
    uint64_t bytes_sent = 0;
    uint64_t bytes_received = 0;
    uint64_t bytes_waiting = 0;  // not sent yet, or sent and not confirmed; what shared memory holds is not counted
    uint32_t connections = 0;
  };

  virtual ~Transport() = default;

  // Any thread. Keeps a link to `peer` at `address` (host:port), redialing with backoff and jitter until Disconnect,
  // also when another job, another certificate or nonsense answers there.
  // The same peer and address again changes nothing; another address redials. Both ends may connect to each other: one
  // connection remains.
  virtual void Connect(NodeId peer, const std::string& address) = 0;
  // Forgets the peer and what waits for it: for nodes that are gone for good.
  virtual void Disconnect(NodeId peer) = 0;
  // Any thread. Messages to a peer arrive in the order of sending and once, over reconnects, while both processes live.
  // On the loop small messages leave at the end of the turn, together. Unavailable: there has been no link to `peer`
  // yet. ResourceExhausted: too much waits for it already. In both cases the message is gone.
  // `link` is carried along for the receiver's core.
  virtual Status Send(NodeId to, const Message& message, const LinkHeader& link) = 0;
  Status Send(NodeId to, const Message& message) { return Send(to, message, LinkHeader()); }
  // Any thread. Memory for the values of a message to this node that need not be copied again on their way; null: take
  // any memory.
  virtual std::shared_ptr<void> Reserve(NodeId to, size_t bytes) = 0;
  // Any thread: nothing of a message in flight is written into `rows` after this; it arrives whole all the same.
  virtual void Unplace(std::span<const float> rows) = 0;
  virtual Counters counters() const = 0;
  // At most `links_max`, those with the most bytes.
  virtual std::vector<LinkCounters> links(size_t links_max) const = 0;
};

}  // namespace attune::ps
