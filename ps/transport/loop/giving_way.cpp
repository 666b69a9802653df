#include "ps/transport/loop/giving_way.h"

#include <cstdint>

namespace attune::ps {

void GivingWay::Pause(const Baton& baton, const TaskQueue& tasks, const std::atomic<bool>& stopping) {
  const MutexLock lock(mutex_);
  giving_way_ = true;
  uint64_t seen = baton.drives();
  while (!take_over_ && !stopping) {
    if (!baton.is_held() && !tasks.empty()) break;
    const bool asked = asked_.WaitFor(mutex_, baton.is_held() ? kPauseWhileDriven : kPause,
                                      [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return take_over_; });
    if (asked) break;
    const uint64_t now = baton.drives();
    if (!baton.is_held() && now == seen) break;
    seen = now;
  }
  take_over_ = false;
  giving_way_ = false;
}

void GivingWay::TakeOver() {
  if (!giving_way_) return;
  {
    const MutexLock lock(mutex_);
    take_over_ = true;
  }
  asked_.NotifyOne();
}

}  // namespace attune::ps
