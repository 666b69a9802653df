// Threads that stand ready between two pieces of work: a step takes milliseconds, starting a thread is a part of one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace attune::examples {

// Used by one thread at a time. Threads are started when they are first needed and then sleep until they are again.
class ThreadTeam {
 public:
  ThreadTeam() = default;
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  // work(0) .. work(count - 1) at once, work(0) in the calling thread; returns when all have ended.
  void Run(uint32_t count, const std::function<void(uint32_t)>& work);

 private:
  void Serve(uint32_t number);

  std::mutex mutex_;  // guards what follows
  std::condition_variable begin_, end_;
  const std::function<void(uint32_t)>* work_ = nullptr;
  uint64_t round_ = 0;
  uint32_t count_ = 0, running_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;  // of the calling thread; thread i does work(i + 1)
};

}  // namespace attune::examples
