// Peers whose links have ended and that this node does not dial, the longest gone first: what is kept of one is
// forgotten after a while, or earlier where room is needed. One that comes back and leaves again has an entry for each
// time; the owner looks whether an entry still says the truth.
//
// Pure; not thread-safe.
#pragma once

#include <deque>
#include <optional>

#include "base/time_source.h"
#include "ps/transport/transport.h"

namespace attune::ps {

class DepartedPeers {
 public:
  struct Departure {
    NodeId node;
    MonotonicTime at{};
  };

  explicit DepartedPeers(Duration kept_for) : kept_for_(kept_for) {}

  // `now` does not go back from one call to the next.
  void Add(NodeId node, MonotonicTime now) { departures_.push_back({.node = node, .at = now}); }
  bool empty() const { return departures_.empty(); }
  // When the next one is to be forgotten; kNever: there is none.
  MonotonicTime due_at() const { return empty() ? kNever : departures_.front().at + kept_for_; }
  // The next one that is due; nothing when none is.
  std::optional<Departure> TakeDue(MonotonicTime now) { return now < due_at() ? std::nullopt : TakeOldest(); }
  std::optional<Departure> TakeOldest() {
    if (empty()) return std::nullopt;
    const Departure oldest = departures_.front();
    departures_.pop_front();
    return oldest;
  }

 private:
  const Duration kept_for_;
  std::deque<Departure> departures_;
};

}  // namespace attune::ps
