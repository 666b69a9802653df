#include "ps/transport/loop/timer_queue.h"

#include <functional>
#include <utility>

namespace attune::ps {

class TimerQueue::LoopTimer final : public EventLoop::Timer {
 public:
  explicit LoopTimer(Timers& timers) : timers_(timers) {}
  ~LoopTimer() override { Cancel(); }
  void SetAt(MonotonicTime when, std::function<void()> fire) override {
    Cancel();
    fire_ = std::move(fire);
    place_ = timers_.emplace(when, this);
    set_ = true;
  }
  void Cancel() override {
    if (std::exchange(set_, false)) timers_.erase(place_);
  }
  void Fire() {
    Cancel();
    const std::function<void()> fire = std::move(fire_);  // may set the timer again, or destroy it
    fire();
  }

 private:
  Timers& timers_;
  std::function<void()> fire_;
  Timers::iterator place_;
  bool set_ = false;
};

std::unique_ptr<EventLoop::Timer> TimerQueue::New() { return std::make_unique<LoopTimer>(timers_); }

void TimerQueue::FireNext() { timers_.begin()->second->Fire(); }

}  // namespace attune::ps
