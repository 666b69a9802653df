// Threads of log followers, at most so many at once: one that has ended is joined when the next starts, the rest by
// Join().
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <thread>
#include <utility>

#include "base/mutex.h"

namespace attune::local {

class FollowerThreads {
 public:
  explicit FollowerThreads(size_t max) : max_(max) {}

  // False when there are too many, or none may start any more.
  bool Start(std::function<void()> body) {
    const MutexLock lock(mutex_);
    followers_.remove_if([](const Follower& follower) { return follower.ended.load(); });
    if (closed_ || followers_.size() >= max_) return false;
    Follower& follower = followers_.emplace_back();
    follower.thread = std::jthread([&follower, body = std::move(body)]() mutable {
      body();
      body = nullptr;  // what it holds goes before the thread counts as ended
      follower.ended = true;
    });
    return true;
  }

  // Waits for all; they must have been asked to end.
  void Join() {
    std::list<Follower> last;
    {
      const MutexLock lock(mutex_);
      closed_ = true;
      last.swap(followers_);
    }
  }

 private:
  struct Follower {
    std::atomic<bool> ended = false;
    std::jthread thread;  // joins
  };
  const size_t max_;
  Mutex mutex_;
  std::list<Follower> followers_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace attune::local
