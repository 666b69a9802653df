// The request to end: SIGTERM or SIGINT.
#pragma once

#include <csignal>
#include <memory>

#include "base/mutex.h"
#include "base/os/signal_watcher.h"
#include "base/time_source.h"

namespace attune {

// Thread-safe.
class StopRequest {
 public:
  bool Watch() {
    watcher_ = SignalWatcher::Install({SIGTERM, SIGINT}, [this](int) {
      const MutexLock lock(mutex_);
      requested_ = true;
      changed_.NotifyAll();
    });
    return watcher_ != nullptr;
  }
  // Ends a wait early, this one or the next.
  void Wake() {
    const MutexLock lock(mutex_);
    woken_ = true;
    changed_.NotifyAll();
  }
  // Whether it came, by the end of `timeout` or of a shorter wait.
  bool Wait(Duration timeout) {
    const MutexLock lock(mutex_);
    changed_.WaitFor(mutex_, timeout, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return requested_ || woken_; });
    woken_ = false;
    return requested_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool requested_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<SignalWatcher> watcher_;
};

}  // namespace attune
