// That the program is asked to leave: who waits for work is interrupted, once, and it is known whether the program has
// noticed. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "ps/runtime/worker/future_state.h"

namespace attune::ps {

class DrainNotice {
 public:
  // False: it was requested before.
  bool Request();
  bool requested() const { return requested_.load(std::memory_order_acquire); }
  // requested(), asked on the program's behalf: once this has returned true, the program may act on it.
  bool Notice() {
    if (!requested()) return false;
    noticed_.store(true, std::memory_order_release);
    return true;
  }
  bool noticed() const { return noticed_.load(std::memory_order_acquire); }
  // Interrupted by the request, at once where there was one. A state may be registered once.
  void InterruptOnRequest(const std::shared_ptr<Future::State>& state);

 private:
  std::atomic<bool> requested_ = false, noticed_ = false;
  Mutex mutex_;
  std::vector<std::weak_ptr<Future::State>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attune::ps
