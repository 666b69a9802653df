#include "operator/kube/watch/watch_health.h"

namespace attune::kube {

void WatchHealth::BeginWait(const WatcherCounts& counts, MonotonicTime until) {
  const MutexLock lock(mutex_);
  counts_ = counts;
  turn_ = {turn_.number + 1, until};
}

void WatchHealth::EndWait() {
  const MutexLock lock(mutex_);
  turn_ = {turn_.number + 1, {}};
}

bool WatchHealth::Note(const Status& status) {
  const MutexLock lock(mutex_);
  const bool is_news = !status.ok() && status != last_failure_;
  last_failure_ = status;
  return is_news;
}

WatcherCounts WatchHealth::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

WatchHealth::Turn WatchHealth::turn() const {
  const MutexLock lock(mutex_);
  return turn_;
}

Status WatchHealth::last_failure() const {
  const MutexLock lock(mutex_);
  return last_failure_;
}

}  // namespace attune::kube
