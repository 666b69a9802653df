// Tasks that wait for a loop to run them, in the order of posting.
//
// Thread-safe. Whether there are any is known without a lock.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <utility>

#include "base/mutex.h"

namespace attune::ps {

class TaskQueue {
 public:
  using Task = std::function<void()>;

  void Post(Task&& task) {
    const MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    has_tasks_ = true;
  }
  bool empty() const { return !has_tasks_; }
  // All that wait, for the caller to run.
  std::deque<Task> TakeAll() {
    std::deque<Task> tasks;
    const MutexLock lock(mutex_);
    tasks.swap(tasks_);
    has_tasks_ = false;
    return tasks;
  }

 private:
  Mutex mutex_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> has_tasks_ = false;
};

}  // namespace attune::ps
