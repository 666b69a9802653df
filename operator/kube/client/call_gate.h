// Bounds how many calls are in flight at once: who comes when all places are taken waits, up to its deadline. Closing
// waits until the last has left.
//
// Thread-safe.
#pragma once

#include <chrono>

#include "base/mutex.h"
#include "base/time_source.h"

namespace attune::kube {

class CallGate {
 public:
  explicit CallGate(int limit) : limit_(limit) {}

  // False when no place became free in time; then Leave must not be called.
  bool Enter(std::chrono::steady_clock::time_point deadline) {
    const MutexLock lock(mutex_);
    const auto has_room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return inside_ < limit_; };
    if (!changed_.WaitUntil(mutex_, deadline, has_room)) return false;
    ++inside_;
    return true;
  }
  void Leave() {
    const MutexLock lock(mutex_);
    --inside_;
    changed_.NotifyAll();
  }
  // False when a call is still inside at the end of `timeout`.
  bool WaitEmpty(Duration timeout) {
    const MutexLock lock(mutex_);
    return changed_.WaitFor(mutex_, timeout, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return inside_ == 0; });
  }

 private:
  const int limit_;
  Mutex mutex_;
  CondVar changed_;
  int inside_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace attune::kube
