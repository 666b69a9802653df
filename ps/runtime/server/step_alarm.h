// The one timer of a state machine that says when it wants its next step. On the loop's thread only.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/time_source.h"
#include "ps/transport/event_loop.h"

namespace attune::ps {

class StepAlarm {
 public:
  // `loop` must outlive it.
  StepAlarm(EventLoop& loop, std::function<void()> ring) : ring_(std::move(ring)), timer_(loop.NewTimer()) {}

  // Rings once, then and at no time asked for before.
  void SetAt(MonotonicTime when) {
    if (when == armed_) return;
    armed_ = when;
    timer_->SetAt(when, [this] {
      armed_ = kNever;
      ring_();
    });
  }

 private:
  const std::function<void()> ring_;
  const std::unique_ptr<EventLoop::Timer> timer_;
  MonotonicTime armed_ = kNever;
};

}  // namespace attune::ps
