// Processes that were members of a job and are none any more, each with what it hears should it speak again. Bounded in
// number and age, so that a job whose workers come and go for weeks takes no more memory at its end.
//
// The process of a node that was forgotten hears that it is no longer a member when it still speaks or comes back with
// its number. It cannot be admitted under that number again: numbers are never reused. Without a number, as a process
// that never heard of being admitted, it joins like any new one: it has changed nothing under the number it never knew.
//
// Pure. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

class GoneMembers {
 public:
  struct Options {
    size_t kept_max = 2 * kMembersMax;
    // One that left cleanly asks at most whether its last words have arrived, before the deadline of its call.
    Duration left_kept = std::chrono::hours(1);
    // One that is lost may have been silent, and may speak again when its machine does.
    Duration lost_kept = std::chrono::hours(24);
  };
  struct Gone {
    Status why;  // OK: it left cleanly
    uint64_t incarnation = 0;
    MonotonicTime since;
  };

  GoneMembers() : GoneMembers(Options{}) {}
  explicit GoneMembers(const Options& options) : options_(options) {}

  // `incarnation` 0: not known. What is known of a node already stays. Beyond `kept_max` the oldest one is forgotten,
  // those that left cleanly first.
  void Add(NodeId node, uint64_t incarnation, Status why, MonotonicTime now);
  // Null: not known, or forgotten.
  const Gone* Find(NodeId node) const;
  // The node that this process was; 0: not known, or forgotten.
  NodeId NodeOf(uint64_t incarnation) const;
  // Pods (incarnation.h) of at most `max` members that were lost, the last one first.
  std::vector<uint32_t> LostPods(size_t max) const;
  // Forgets what is too old.
  void Expire(MonotonicTime now);
  size_t size() const { return gone_.size(); }

 private:
  void ForgetOldest(std::deque<NodeId>& order);

  Options options_;
  std::map<NodeId, Gone> gone_;
  std::map<uint64_t, NodeId> processes_;  // by incarnation
  std::deque<NodeId> left_, lost_;        // the oldest first
};

}  // namespace attune::ps
