#include "operator/kube/watch/signal_queue.h"

namespace attune::kube {

void SignalQueue::Put(WatchSignal signal) {
  const MutexLock lock(mutex_);
  if (overflowed_) return;
  if (signals_.size() >= kSignalsMax) {
    overflowed_ = true;
    signal = {
        WatchSignal::Kind::kBroken,
        {},
        Error(StatusCode::kResourceExhausted, "watching " + plural_ + ": changes come faster than they are handled")};
  }
  signals_.push_back(std::move(signal));
  changed_.NotifyAll();
}

std::deque<WatchSignal> SignalQueue::TakeAll(Duration timeout) {
  const MutexLock lock(mutex_);
  changed_.WaitFor(mutex_, timeout,
                   [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !signals_.empty(); });
  return std::exchange(signals_, {});
}

void SignalQueue::Clear() {
  const MutexLock lock(mutex_);
  signals_.clear();
  overflowed_ = false;
}

void SignalQueue::Stop() {
  const MutexLock lock(mutex_);
  stopping_ = true;
  changed_.NotifyAll();
}

bool SignalQueue::stopping() const {
  const MutexLock lock(mutex_);
  return stopping_;
}

}  // namespace attune::kube
