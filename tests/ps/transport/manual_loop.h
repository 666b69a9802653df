// An event loop that does its work when the test says so, with a clock that the test moves.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "ps/transport/event_loop.h"

namespace attune::ps {

class ManualLoop final : public EventLoop {
 public:
  // What was posted, and what that posts.
  void RunPosted() {
    while (!posted_.empty()) {
      const std::function<void()> task = std::move(posted_.front());
      posted_.pop_front();
      task();
    }
  }
  // Fires every timer that is due by then, in order of time.
  void AdvanceTo(MonotonicTime now) {
    time_.Set(now);
    while (!timers_.empty() && timers_.begin()->first <= now) {
      const std::function<void()> fire = timers_.begin()->second->Take();
      fire();
    }
  }
  size_t posted() const { return posted_.size(); }
  size_t timers_set() const { return timers_.size(); }

  void Post(std::function<void()> task) override { posted_.push_back(std::move(task)); }
  bool InLoop() const override { return true; }
  void Stop() override {}
  bool stopped() const override { return false; }
  void WaitFor(const std::function<bool()>&, const std::function<void()>& sleep) override { sleep(); }
  void Wake() override {}
  std::unique_ptr<Timer> NewTimer() override { return std::make_unique<ManualTimer>(*this); }
  std::unique_ptr<Watch> WatchFile(int, Ready) override { return nullptr; }
  void SetParticipant(Participant*) override {}
  const TimeSource& time() const override { return time_; }

 private:
  class ManualTimer final : public Timer {
   public:
    explicit ManualTimer(ManualLoop& loop) : loop_(loop) {}
    ~ManualTimer() override { Remove(); }
    void SetAt(MonotonicTime when, std::function<void()> fire) override {
      Remove();
      fire_ = std::move(fire);
      loop_.timers_.emplace(when, this);
    }
    void Cancel() override { Remove(); }
    std::function<void()> Take() {
      Remove();
      return std::move(fire_);
    }

   private:
    void Remove() {
      std::erase_if(loop_.timers_, [this](const auto& entry) { return entry.second == this; });
    }

    ManualLoop& loop_;
    std::function<void()> fire_;
  };
  ManualTime time_;
  std::deque<std::function<void()>> posted_;
  std::multimap<MonotonicTime, ManualTimer*> timers_;
};

}  // namespace attune::ps
