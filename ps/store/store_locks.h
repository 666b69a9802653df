// Locks of a store that several threads use. A store for one thread has the empty ones, which cost nothing.
#pragma once

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "ps/store/row_slabs.h"

namespace attune::ps {

// Many readers or one writer; a writer that waits lets no new reader in, so it waits for at most one batch of each
// thread. (std::shared_mutex alone lets readers that overlap starve a writer.) Not annotated for the thread-safety
// analysis: tables hold it by locks of the standard library, which the analysis does not see.
class FairSharedMutex {
 public:
  void lock() {
    const std::lock_guard turn(turnstile_);
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }
  void lock_shared() {
    const std::lock_guard turn(turnstile_);
    mutex_.lock_shared();
  }
  void unlock_shared() { mutex_.unlock_shared(); }

 private:
  std::mutex turnstile_;
  std::shared_mutex mutex_;
};

struct NoMutex {
  void lock() {}
  void unlock() {}
  void lock_shared() {}
  void unlock_shared() {}
};

// Holds a row for the length of a copy or an update, some ten nanoseconds: waits by looking again, and lets others run
// when that takes long, because its holder may have lost the processor.
class RowLock {
 public:
  explicit RowLock(SideRecord& side) : lock_(side.lock) {
    for (uint32_t tries = 1; lock_.exchange(1, std::memory_order_acquire) != 0; ++tries) {
      while (lock_.load(std::memory_order_relaxed) != 0) {
        if (++tries % kTriesBeforeYield == 0) std::this_thread::yield();
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
      }
    }
  }
  ~RowLock() { lock_.store(0, std::memory_order_release); }
  RowLock(const RowLock&) = delete;
  RowLock& operator=(const RowLock&) = delete;

 private:
  static constexpr uint32_t kTriesBeforeYield = 64;
  std::atomic_ref<uint8_t> lock_;
};

struct NoRowLock {
  explicit NoRowLock(SideRecord&) {}
};

}  // namespace attune::ps
