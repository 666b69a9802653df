// A mutex whose discipline the compiler checks: clang's thread-safety analysis (`scripts/lint`) reports every access to
// a field marked ABSL_GUARDED_BY(mutex_), and every call of a function marked ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_),
// where the mutex is not held. The annotations are absl/base/thread_annotations.h; other compilers ignore them.
//
// The primitives underneath are those of the standard library, at the same cost; it is only that libstdc++ does not
// annotate its own, so the analysis cannot see them being locked. Thread safe, as the standard primitives are.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"

namespace attune {

// std::mutex with annotations. The names of its methods are those that the standard library's locks expect, so that
// std::scoped_lock and std::condition_variable_any take it too (the analysis does not see what they do).
class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  bool try_lock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return mutex_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a mutex for the length of a scope. The mutex must outlive it.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_.lock(); }
  // Takes over a mutex that the caller holds, after a successful try_lock().
  MutexLock(Mutex& mutex, std::adopt_lock_t) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) : mutex_(mutex) {}
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// A MutexLock that can release the mutex before the scope ends and acquire it again: for loops that work without the
// lock between two looks at what it guards.
class ABSL_SCOPED_LOCKABLE ReleasableMutexLock {
 public:
  explicit ReleasableMutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~ReleasableMutexLock() ABSL_UNLOCK_FUNCTION() {
    if (held_) mutex_.unlock();
  }
  ReleasableMutexLock(const ReleasableMutexLock&) = delete;
  ReleasableMutexLock& operator=(const ReleasableMutexLock&) = delete;

  // The mutex is held.
  void Release() ABSL_UNLOCK_FUNCTION() {
    held_ = false;
    mutex_.unlock();
  }
  // The mutex was released.
  void Acquire() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    mutex_.lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// std::condition_variable for a Mutex. The caller of a wait holds the mutex, and holds it again afterwards. A wait
// without a predicate may end for no reason, so it belongs in a loop:
//   while (queue_.empty()) changed_.Wait(mutex_);
// Predicates run with the mutex held; a lambda that reads guarded fields says so, because it is a function of its own:
//   changed_.WaitFor(mutex_, kPause, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; });
class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Borrowed borrowed(mutex);
    condition_.wait(borrowed.lock);
  }
  template <typename Predicate>
  void Wait(Mutex& mutex, Predicate holds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Borrowed borrowed(mutex);
    condition_.wait(borrowed.lock, std::move(holds));
  }

  template <typename Rep, typename Period>
  void WaitFor(Mutex& mutex, std::chrono::duration<Rep, Period> timeout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Borrowed borrowed(mutex);
    condition_.wait_for(borrowed.lock, timeout);
  }

  // What `holds` says at the end: false when the time was over before it said true.
  template <typename Rep, typename Period, typename Predicate>
  bool WaitFor(Mutex& mutex, std::chrono::duration<Rep, Period> timeout, Predicate holds)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Borrowed borrowed(mutex);
    return condition_.wait_for(borrowed.lock, timeout, std::move(holds));
  }
  template <typename Clock, typename Duration, typename Predicate>
  bool WaitUntil(Mutex& mutex, std::chrono::time_point<Clock, Duration> deadline, Predicate holds)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Borrowed borrowed(mutex);
    return condition_.wait_until(borrowed.lock, deadline, std::move(holds));
  }

 private:
  // What std::condition_variable wants to be given of a mutex that the caller holds. It goes back to the caller held,
  // also when a predicate throws.
  struct Borrowed {
    explicit Borrowed(Mutex& mutex) : lock(mutex.mutex_, std::adopt_lock) {}
    ~Borrowed() { lock.release(); }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;

    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable condition_;
};

}  // namespace attune
