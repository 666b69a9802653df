#include "ps/runtime/worker/drain_notice.h"

#include <utility>

namespace attune::ps {

bool DrainNotice::Request() {
  if (requested_.exchange(true)) return false;
  std::vector<std::weak_ptr<Future::State>> waiting;
  {
    const MutexLock lock(mutex_);
    waiting.swap(waiting_);
  }
  for (const auto& weak : waiting) {
    if (const auto state = weak.lock()) state->Interrupt();
  }
  return true;
}

void DrainNotice::InterruptOnRequest(const std::shared_ptr<Future::State>& state) {
  {
    const MutexLock lock(mutex_);
    std::erase_if(waiting_, [](const auto& weak) { return weak.expired(); });
    waiting_.push_back(state);
  }
  // A request that came just before has not seen this state.
  if (requested()) state->Interrupt();
}

}  // namespace attune::ps
