// How far a worker is with one lease of training data: a position counts as done once all pushes that were issued until
// the program named it are settled. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "ps/core/protocol/ids.h"

namespace attune::ps {

class LeaseProgress {
 public:
  LeaseProgress(uint64_t begin, uint64_t end) : end_(end), done_(begin), named_(begin) {}

  // The program has processed everything before `position`, with pushes up to `issued`. A position outside of the lease
  // or before the last one counts as the nearest that is not.
  void Advance(uint64_t position, SequenceNumber issued) {
    named_ = std::clamp(position, named_, end_);
    if (!marks_.empty() && marks_.back().issued == issued) {
      marks_.back().position = named_;
    } else {
      marks_.push_back({.position = named_, .issued = issued});
    }
  }
  // Whether Settle(settled) would change something.
  bool CanSettle(SequenceNumber settled) const { return !marks_.empty() && marks_.front().issued <= settled; }
  // All pushes up to this one are settled.
  void Settle(SequenceNumber settled) {
    for (; CanSettle(settled); marks_.pop_front()) done_ = marks_.front().position;
  }

  uint64_t done() const { return done_; }
  uint64_t named() const { return named_; }
  // Everything that the program has named is done.
  bool settled() const { return marks_.empty(); }
  bool complete() const { return done_ >= end_; }

 private:
  struct PositionMark {
    uint64_t position;
    SequenceNumber issued;
  };
  uint64_t end_, done_, named_;
  std::deque<PositionMark> marks_;  // ascending
};

}  // namespace attune::ps
