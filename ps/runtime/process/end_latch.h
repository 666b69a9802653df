// How a process comes to its end: one thread waits, and the first reason that another gives counts. Thread-safe.
#pragma once

#include <optional>

#include "base/mutex.h"
#include "base/status.h"

namespace attune::ps {

class EndLatch {
 public:
  void End(const Status& status) {
    const MutexLock lock(mutex_);
    if (!end_) end_ = status;
    ended_.NotifyAll();
  }
  // Blocks until there is a reason; OK: all is done.
  Status Wait() {
    const MutexLock lock(mutex_);
    while (!end_) ended_.Wait(mutex_);
    return *end_;
  }

 private:
  Mutex mutex_;
  CondVar ended_;
  std::optional<Status> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attune::ps
