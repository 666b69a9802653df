// One thread that does what may block on a disk, one task after the other, so that event loops never do.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

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

  std::mutex mutex_;  // guards tasks_, stopping_
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace attune::ps
