// One thread that runs what is posted to it, timers and socket events, each to completion; it sleeps while nothing is
// due. Shells keep their state on a loop instead of behind locks. Boost.Asio stays inside the .cpp files of this room.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/time_source.h"

namespace attune::ps {

class EventLoop {
 public:
  // The thread starts at once. `time` must outlive the loop.
  static std::unique_ptr<EventLoop> Start(const std::string& thread_name, const TimeSource& time);
  // Stops and joins; what has not run by then never runs. Not from the loop's own thread.
  virtual ~EventLoop() = default;

  // Any thread. Runs `task` on the loop, in the order of posting.
  virtual void Post(std::function<void()> task) = 0;
  virtual bool InLoop() const = 0;
  // Ends the thread after the task under way and, unless called by that task, waits for it: what tasks use may be
  // destroyed afterwards. Idempotent; from one thread at a time. Later posts are accepted and never run.
  virtual void Stop() = 0;
  // Any thread. True once Stop has returned elsewhere than on the loop.
  virtual bool stopped() const = 0;

  // A timer that can be moved; fires once per setting. Use it on the loop's thread only.
  class Timer {
   public:
    virtual ~Timer() = default;
    virtual void SetAt(MonotonicTime when, std::function<void()> fire) = 0;
    virtual void Cancel() = 0;
  };
  virtual std::unique_ptr<Timer> NewTimer() = 0;

  virtual const TimeSource& time() const = 0;
  // The asio::io_context, for the transports of this room.
  virtual void* native() = 0;
};

}  // namespace attune::ps
