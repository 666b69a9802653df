// Who drives a loop: the thread that holds the baton. The loop's own thread takes it when it may, a thread that waits
// for something the loop will bring about takes it instead of sleeping where it is free; the others are counted, so
// that the driver knows when none is left to serve.
//
// Thread-safe: a mutex, with what there is to know of its holder. The thread-safety analysis knows the baton and, where
// it is taken and passed, leaves the mutex inside alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "base/mutex.h"

namespace attune::ps {

class ABSL_LOCKABLE Baton {
 public:
  Baton() = default;
  Baton(const Baton&) = delete;
  Baton& operator=(const Baton&) = delete;

  // The loop's own thread, once no other drives.
  void Take() ABSL_EXCLUSIVE_LOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.lock();
    Held();
    waiters_seen_ = false;
  }
  // A thread after BeginWait, where the baton is free: it does not wait any more, it drives.
  bool TryTake() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (!mutex_.try_lock()) return false;
    --waiters_;
    Held();
    ++drives_;
    return true;
  }
  void Pass() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    driven_ = false;
    driver_ = std::thread::id();
    mutex_.unlock();
  }
  // Returns when the present driver has passed it.
  void AwaitDriver() { const MutexLock lock(mutex_); }

  // Before TryTake: a driver that leaves meanwhile sees that a thread waits.
  void BeginWait() { ++waiters_; }
  // Returns whether it was the last that waited for a thread that drives: that one may give way now.
  bool EndWait() { return --waiters_ == 0 && driven_; }

  bool IsMine() const { return driver_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  bool is_held() const { return driven_; }
  bool HasWaiters() const { return waiters_ > 0; }
  // How often other threads than the loop's own have driven.
  uint64_t drives() const { return drives_; }
  // For the loop's own thread, again and again while it drives: others have waited meanwhile, and all of them have got
  // their answers.
  bool AllServed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(this) {
    const int waiting = waiters_;
    waiters_seen_ = waiters_seen_ || waiting > 0;
    return waiters_seen_ && waiting == 0;
  }

 private:
  void Held() {
    driver_ = std::this_thread::get_id();
    driven_ = true;
  }

  Mutex mutex_;
  std::atomic<std::thread::id> driver_{};
  std::atomic<bool> driven_ = false;
  std::atomic<int> waiters_ = 0;  // that do not drive
  std::atomic<uint64_t> drives_ = 0;
  bool waiters_seen_ ABSL_GUARDED_BY(this) = false;  // since the own thread took over
};

}  // namespace attune::ps
