// A few threads for calls that block: reactions of gRPC must not. What waits is bounded, all together and by source, so
// that one source cannot keep the others from being served. Thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace attune::telemetry {

struct BlockingCallsBounds {
  size_t waiting_max = 4'096;
  size_t waiting_per_source_max = 256;
};

class BlockingCalls {
 public:
  explicit BlockingCalls(int threads, const BlockingCallsBounds& bounds = {}) : bounds_(bounds) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
  }
  // Carries out what is queued, then returns.
  ~BlockingCalls() {
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
    }
    changed_.NotifyAll();
    for (std::thread& thread : threads_) thread.join();
  }
  // False when too many wait, all together or of that source.
  bool Post(const std::string& source, std::function<void()> call) {
    {
      const MutexLock lock(mutex_);
      if (queue_.size() >= bounds_.waiting_max || waiting_[source] >= bounds_.waiting_per_source_max) return false;
      ++waiting_[source];
      queue_.emplace_back(source, std::move(call));
    }
    changed_.NotifyOne();
    return true;
  }

 private:
  void Run() {
    ReleasableMutexLock lock(mutex_);
    while (true) {
      while (!stopping_ && queue_.empty()) changed_.Wait(mutex_);
      if (queue_.empty()) return;
      auto [source, call] = std::move(queue_.front());
      queue_.pop_front();
      if (--waiting_[source] == 0) waiting_.erase(source);
      lock.Release();
      call();
      lock.Acquire();
    }
  }

  const BlockingCallsBounds bounds_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::pair<std::string, std::function<void()>>> queue_ ABSL_GUARDED_BY(mutex_);  // each with its source
  std::map<std::string, size_t> waiting_ ABSL_GUARDED_BY(mutex_);                            // in the queue, by source
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace attune::telemetry
