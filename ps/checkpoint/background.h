// One thread that does what may block on a disk, one task after the other, so that event loops never do.
#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "base/mutex.h"

namespace attune::ps {

class BackgroundThread {
 public:
  BackgroundThread();
  // Waits for the task in progress; those that wait are dropped. The owner of the task cancels what could take long.
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  // Any thread. The number of tasks that wait is the callers' to bound.
  void Post(std::function<void()> task);

 private:
  void Run();

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace attune::ps
