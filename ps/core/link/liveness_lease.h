// A node's right to act: given with every answered heartbeat, from the time that heartbeat was sent. Once it has run
// out the coordinator may have replaced the node, so it serves and acknowledges nothing until it hears from it again
// (docs/protocol.md#another-coordinator). Pure; externally synchronized.
#pragma once

#include <cstdint>
#include <deque>

#include "base/time_source.h"

namespace attune::ps {

class LivenessLease {
 public:
  void Sent(uint64_t heartbeat, MonotonicTime now) {
    constexpr size_t kRemembered = 64;
    sent_.push_back({heartbeat, now});
    if (sent_.size() > kRemembered) sent_.pop_front();
  }
  // `lease` 0: the coordinator is without the leader lease and gives none.
  void Answered(uint64_t heartbeat, Duration lease) {
    while (!sent_.empty() && sent_.front().number < heartbeat) sent_.pop_front();
    if (sent_.empty() || sent_.front().number != heartbeat) return;
    constexpr int64_t kMarginDivisor = 10;  // two clocks may differ in speed
    if (lease > Duration::zero()) {
      ends_ = sent_.front().at + (lease - lease / kMarginDivisor);
    } else if (ends_ == kNever) {
      ends_ = sent_.front().at;
    }
    sent_.pop_front();
  }
  // kNever before the first answer: a node that has not been answered has not been given anything to serve either.
  MonotonicTime ends() const { return ends_; }
  bool Valid(MonotonicTime now) const { return now < ends_; }

 private:
  struct SentAt {
    uint64_t number;
    MonotonicTime at;
  };
  std::deque<SentAt> sent_;
  MonotonicTime ends_ = kNever;
};

}  // namespace attune::ps
