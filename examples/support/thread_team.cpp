#include "examples/support/thread_team.h"

namespace attune::examples {

ThreadTeam::~ThreadTeam() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  begin_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::Run(uint32_t count, const std::function<void(uint32_t)>& work) {
  if (count == 0) return;
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    count_ = count;
    running_ = count - 1;
    ++round_;
  }
  while (threads_.size() + 1 < count) {
    const auto number = static_cast<uint32_t>(threads_.size()) + 1;
    threads_.emplace_back([this, number] { Serve(number); });
  }
  begin_.notify_all();
  work(0);
  std::unique_lock lock(mutex_);
  end_.wait(lock, [this] { return running_ == 0; });
  work_ = nullptr;
}

void ThreadTeam::Serve(uint32_t number) {
  std::unique_lock lock(mutex_);
  for (uint64_t served = 0;; served = round_) {
    begin_.wait(lock, [&] { return stopping_ || (round_ != served && work_ != nullptr); });
    if (stopping_) return;
    if (number >= count_) continue;  // not needed this time
    const std::function<void(uint32_t)>& work = *work_;
    lock.unlock();
    work(number);
    lock.lock();
    if (--running_ == 0) end_.notify_one();
  }
}

}  // namespace attune::examples
