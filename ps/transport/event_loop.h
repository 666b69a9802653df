// One piece of work at a time: what is posted, timers and ready files, each to completion. Shells keep their state on a
// loop instead of behind locks.
//
// The loop has a thread of its own, which sleeps while nothing is due. A thread that waits for something the loop will
// bring about may do the loop's work itself meanwhile (WaitFor): the answer it waits for then needs no second thread to
// be woken. At any time one thread does the loop's work ("drives" it); "on the loop" means: by the thread that drives.
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
  // Stops and joins; what has not run by then never runs. Not from the loop itself.
  virtual ~EventLoop() = default;

  // Any thread. Runs `task` on the loop, in the order of posting.
  virtual void Post(std::function<void()> task) = 0;
  virtual bool InLoop() const = 0;
  // Ends the loop after the running task and, unless called by that task, waits for it: what tasks use may be
  // destroyed afterwards. Idempotent; from one thread at a time. Later posts are accepted and never run.
  virtual void Stop() = 0;
  // Any thread. True once Stop has returned elsewhere than on the loop.
  virtual bool stopped() const = 0;

  // Any thread but not on the loop: returns when `done()`, which must be thread-safe, cheap and stay true. Drives the
  // loop while no other thread does; else blocks in `sleep`, which returns when done() holds. The thread that makes
  // done() true outside the loop calls Wake.
  virtual void WaitFor(const std::function<bool()>& done, const std::function<void()>& sleep) = 0;
  // Any thread. A thread that drives within WaitFor looks at its done() again.
  virtual void Wake() = 0;

  // A timer that can be moved; fires once per setting. Use it on the loop only.
  class Timer {
   public:
    virtual ~Timer() = default;
    virtual void SetAt(MonotonicTime when, std::function<void()> fire) = 0;
    virtual void Cancel() = 0;
  };
  virtual std::unique_ptr<Timer> NewTimer() = 0;

  // A file descriptor that is looked at. Use it on the loop only; destroying it ends the calls. The descriptor stays
  // the caller's and must be closed later than the watch.
  class Watch {
   public:
    virtual ~Watch() = default;
    virtual void Want(bool readable, bool writable) = 0;
  };
  using Ready = std::function<void(bool readable, bool writable)>;
  virtual std::unique_ptr<Watch> WatchFile(int fd, Ready ready) = 0;

  // Something with work that no file descriptor reports while the loop is awake (queues in shared memory), and with
  // work to do before it sleeps. Called on the loop.
  class Participant {
   public:
    virtual ~Participant() = default;
    // Handles what is there; false when there was nothing.
    virtual bool Poll() = 0;
    // The loop is about to sleep: others must ring from now on. False when something came meanwhile.
    virtual bool PrepareSleep() = 0;
    virtual void Awake() = 0;
    // After each round of handlers.
    virtual void EndTurn() = 0;
  };
  // On the loop. Null removes it. One per loop.
  virtual void SetParticipant(Participant* participant) = 0;

  virtual const TimeSource& time() const = 0;
};

}  // namespace attune::ps
