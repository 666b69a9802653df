// Which worker the others wait for, and since when: the one that holds the floor of the clocks. Reported once for each
// step that takes long. Externally synchronized.
#pragma once

#include <cstdint>
#include <utility>

#include "base/pause_watch.h"
#include "base/time_source.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

class StragglerWatch {
 public:
  // `anyone_waits`: for the worker `slowest`, which is in step `floor`. True when it is to be reported now: the others
  // have waited for `after`.
  bool Update(bool anyone_waits, uint64_t floor, NodeId slowest, MonotonicTime now, Duration after) {
    if (!anyone_waits || floor != floor_ || slowest != slowest_) {
      floor_ = floor;
      slowest_ = slowest;
      since_ = now;
      reported_ = false;
      return false;
    }
    return now - since_ >= after && !std::exchange(reported_, true);
  }
  // This process has stood still for so long.
  void SkipPause(Duration pause) { since_ = MovedBy(pause, since_); }

  NodeId slowest() const { return slowest_; }
  MonotonicTime since() const { return since_; }

 private:
  uint64_t floor_ = 0;
  NodeId slowest_;
  MonotonicTime since_{};
  bool reported_ = false;
};

}  // namespace attune::ps
