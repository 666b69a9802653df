// How the own thread of a loop steps aside for threads that drive the loop while they wait: it pauses until none of
// them has driven for a moment, or one asks it to take over.
//
// Thread-safe; one thread gives way at a time.
#pragma once

#include <atomic>

#include "base/mutex.h"
#include "base/time_source.h"
#include "ps/transport/loop/baton.h"
#include "ps/transport/loop/task_queue.h"

namespace attune::ps {

class GivingWay {
 public:
  // The own thread, without the baton. Returns when it is to drive, or when `stopping` was set before the call, or
  // before TakeOver.
  void Pause(const Baton& baton, const TaskQueue& tasks, const std::atomic<bool>& stopping);
  // Any other thread.
  void TakeOver();

  // After a thread has driven the loop while it waited, the loop's own thread gives way for so long: the next wait is
  // likely to follow.
  static constexpr Duration kPause = std::chrono::milliseconds(1);
  static constexpr Duration kPauseWhileDriven = std::chrono::milliseconds(2);

 private:
  std::atomic<bool> giving_way_ = false;
  Mutex mutex_;
  CondVar asked_;
  bool take_over_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace attune::ps
