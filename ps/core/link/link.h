// Order and completeness between two nodes: what one sends the other delivers in that order and exactly once, over
// connections that lose, repeat and reorder frames and come and go. The state belongs to the pair of NodeIds, not to a
// connection; at a crash a prefix has arrived. (Protocol description: "link".)
//
// Workers issue pushes, pulls and Localize again after a while, whatever a link can take. What would only repeat
// something that waits here unsent is therefore not queued: else a link that is slower than that never gets to the end
// of its queue.
//
// Pure: the owner sends what it is given and says what arrived. Messages are kept until the peer has them; their Slices
// are shared, not copied. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "base/time_source.h"
#include "ps/core/link/early_frames.h"
#include "ps/core/link/numbered_queue.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

// A row message ready to be sent.
struct LinkFrame {
  LinkHeader link;
  Message message;
};

struct LinkOptions {
  uint32_t window = 1024;             // frames in flight; further ones wait here
  size_t window_bytes = 16 << 20;     // likewise; one frame at least
  uint32_t queue_max = 1 << 20;       // frames waiting or in flight; more: the link is Overfull
  uint32_t ahead_max = 1024;          // frames kept that came before their predecessors
  size_t ahead_bytes_max = 64 << 20;  // and their bytes: a sender has fewer in flight
  uint32_t acknowledge_every = 64;    // frames delivered without any chance to say so
  Duration acknowledge_after = std::chrono::milliseconds(20);  // and how long they wait for a frame going the other way
  Duration resend_after = std::chrono::seconds(2);             // without news of the peer; twice as long each time
  Duration resend_after_max = std::chrono::seconds(8);
  LinkMutations mutations;
};

inline LinkOptions WithMutations(LinkOptions options, LinkMutations mutations) {
  options.mutations = mutations;
  return options;
}

// Both directions between this node and one peer.
class Link {
 public:
  explicit Link(LinkOptions options = {})
      : options_(options),
        resend_after_(options.resend_after),
        early_({.frames_max = options.ahead_max, .bytes_max = options.ahead_bytes_max}) {}

  // Takes nothing when a push or Localize, or the question whether a copy contains a push, waits here already: it is
  // asked again. A pull takes the place of the one that waits: it names fewer pushes to wait for, and what it does not
  // name any more may have been lost with the row since, after it was acknowledged.
  void Send(Message message, MonotonicTime now, std::vector<LinkFrame>& out);
  // A frame has come. Appends what is to be delivered now, in order, to `delivered`.
  void Receive(LinkFrame frame, MonotonicTime now, std::vector<Message>& delivered, std::vector<LinkFrame>& out);
  // While there is no connection nothing is sent; a new one begins with what the peer has not acknowledged.
  void Connected(MonotonicTime now, std::vector<LinkFrame>& out);
  void Disconnected();
  void OnTimer(MonotonicTime now, std::vector<LinkFrame>& out);
  // When OnTimer is due; kNever when nothing waits for time.
  MonotonicTime WakeAt() const;

  bool connected() const { return connected_; }
  size_t queued() const { return queue_.size(); }  // in flight or waiting
  size_t queued_bytes() const { return queue_.bytes(); }
  size_t bytes_under_way() const { return bytes_under_way_; }
  bool overfull() const { return queue_.size() > options_.queue_max; }
  uint64_t delivered() const { return delivered_; }
  uint64_t resent() const { return resent_; }
  // What the peer may not have yet: the first has this number, the others follow. For checkers.
  uint64_t first_queued() const { return queue_.first(); }
  const std::deque<Message>& queue() const { return queue_.messages(); }

 private:
  // Kind of message and its origin's number for it; table and keys, for a push may be cut in other pieces each time;
  // and the map its sender had: under a newer one it is asked for again because what was asked before may not count.
  using Repeatable = std::tuple<size_t, NodeId, uint64_t, TableId, uint64_t, MapVersion>;
  static std::optional<Repeatable> AsRepeatable(const Message& message);
  void SendFrame(uint64_t sequence, std::vector<LinkFrame>& out);
  void SendAllAgain();
  void FillWindow(MonotonicTime now, std::vector<LinkFrame>& out);
  void Acknowledged(uint64_t up_to, MonotonicTime now, std::vector<LinkFrame>& out);

  LinkOptions options_;
  bool connected_ = false;
  // Sending.
  NumberedQueue queue_;                    // kept until acknowledged
  uint64_t next_to_send_ = 1;              // first not sent on this connection
  std::map<Repeatable, uint64_t> unsent_;  // queued behind others and never sent yet, with their numbers
  size_t bytes_under_way_ = 0;             // of what is in flight
  MonotonicTime resend_at_ = kNever;
  Duration resend_after_{};  // grows while there is no news
  uint64_t resent_ = 0;
  // Receiving.
  uint64_t delivered_ = 0;
  EarlyFrames early_;
  uint64_t reported_ = 0;  // delivered_ as last confirmed to the peer
  MonotonicTime acknowledge_at_ = kNever;
};

}  // namespace attune::ps
