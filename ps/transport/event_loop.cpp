#include "ps/transport/event_loop.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <utility>

#include "ps/transport/cores.h"
#include "ps/transport/loop/baton.h"
#include "ps/transport/loop/bell.h"
#include "ps/transport/loop/file_watches.h"
#include "ps/transport/loop/giving_way.h"
#include "ps/transport/loop/spin_judge.h"
#include "ps/transport/loop/task_queue.h"
#include "ps/transport/loop/timer_queue.h"

namespace attune::ps {
namespace {

constexpr Duration kSleepMax = std::chrono::hours(1);
// An answer that comes within this time is cheaper to wait for awake (SpinJudge).
constexpr Duration kSpin = std::chrono::microseconds(40);
constexpr int kPollsPerSpin = 16;
constexpr int kTurnsPerLook = 16;  // rounds of participants between two looks at files

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class EpollLoop final : public EventLoop {
 public:
  EpollLoop(const std::string& thread_name, const TimeSource& time) : time_(time), spin_(AvailableCores()) {
    thread_ = std::thread([this] { Run(); });
    ::pthread_setname_np(thread_.native_handle(), thread_name.substr(0, 15).c_str());
  }
  ~EpollLoop() override {
    Stop();
    if (thread_.joinable()) thread_.join();
    tasks_.TakeAll();  // what they hold may use the loop
  }

  void Post(std::function<void()> task) override {
    tasks_.Post(std::move(task));
    bell_.RingIfAsleep();
    if (!baton_.is_held()) way_.TakeOver();
  }

  bool InLoop() const override { return baton_.IsMine(); }

  void Stop() override {
    stopping_ = true;
    bell_.Ring();
    way_.TakeOver();
    if (InLoop()) return;
    if (thread_.joinable()) thread_.join();
    baton_.AwaitDriver();
    stopped_ = true;
  }
  bool stopped() const override { return stopped_; }

  void WaitFor(const std::function<bool()>& done, const std::function<void()>& sleep) override;
  void Wake() override { bell_.RingIfAsleep(); }

  std::unique_ptr<Timer> NewTimer() override { return timers_.New(); }
  std::unique_ptr<Watch> WatchFile(int fd, Ready ready) override { return files_.New(fd, std::move(ready)); }
  void SetParticipant(Participant* participant) override { participant_ = participant; }
  const TimeSource& time() const override { return time_; }

 private:
  void Run();
  void Drive(const std::function<bool()>& done) ABSL_EXCLUSIVE_LOCKS_REQUIRED(baton_);
  bool RunTasks();
  void FireTimers();
  bool Spin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(baton_);
  void Sleep(const std::function<bool()>& done);
  int SleepMilliseconds() const;

  const TimeSource& time_;
  Bell bell_;
  TaskQueue tasks_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> stopped_ = false;

  // Guards what follows. Handlers, which run with it held, come to timers, files and participant through interfaces
  // that the thread-safety analysis does not see through, so these three are not annotated.
  Baton baton_;
  TimerQueue timers_;
  FileWatches files_{bell_};
  Participant* participant_ = nullptr;
  SpinJudge spin_ ABSL_GUARDED_BY(baton_);
  int turns_without_look_ ABSL_GUARDED_BY(baton_) = 0;

  GivingWay way_;
  std::thread thread_;
};

// --- who drives

void EpollLoop::Run() {
  while (!stopping_) {
    baton_.Take();
    // A caller that waits now is served; when the last of them has got its answer, the next wait may be spent driving.
    Drive([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(baton_) { return baton_.AllServed() || stopping_; });
    baton_.Pass();
    if (!stopping_) way_.Pause(baton_, tasks_, stopping_);
  }
}

void EpollLoop::WaitFor(const std::function<bool()>& done, const std::function<void()>& sleep) {
  baton_.BeginWait();
  if (!stopping_ && baton_.TryTake()) {
    Drive([&] { return stopping_ || done(); });
    baton_.Pass();
    if (baton_.HasWaiters() || !tasks_.empty()) way_.TakeOver();
    if (!done()) sleep();  // the loop is being stopped
    return;
  }
  sleep();
  if (baton_.EndWait()) bell_.RingIfAsleep();  // the own thread may give way now
}

// --- the work

void EpollLoop::Drive(const std::function<bool()>& done) {
  while (true) {
    bool worked = RunTasks();
    FireTimers();
    if (stopping_) return;
    if (participant_ != nullptr) {
      worked = participant_->Poll() || worked;
      participant_->EndTurn();
    }
    if (done()) return;
    if (worked && ++turns_without_look_ < kTurnsPerLook) continue;
    turns_without_look_ = 0;
    if (files_.Handle(0, stopping_) || worked) continue;
    if (Spin()) continue;
    Sleep(done);
  }
}

bool EpollLoop::RunTasks() {
  if (tasks_.empty()) return false;
  std::deque<TaskQueue::Task> tasks = tasks_.TakeAll();
  for (TaskQueue::Task& task : tasks) {
    if (stopping_) return true;
    task();
    task = nullptr;
  }
  return true;
}

void EpollLoop::FireTimers() {
  if (timers_.empty()) return;
  const MonotonicTime now = time_.Now();
  while (timers_.next() <= now && !stopping_) timers_.FireNext();
}

// Looks for a while without sleeping; true when there was something to do.
bool EpollLoop::Spin() {
  if (!spin_.ShouldSpin()) return false;
  const MonotonicTime until = time_.Now() + kSpin;
  bool found = false;
  do {
    for (int i = 0; i < kPollsPerSpin && !found; ++i) {
      found = !tasks_.empty() || (participant_ != nullptr && participant_->Poll());
      Pause();
    }
    found = found || files_.Handle(0, stopping_);
    if (!found) ::sched_yield();
  } while (!found && !stopping_ && time_.Now() < until);
  spin_.Ended(found);
  return found;
}

int EpollLoop::SleepMilliseconds() const {
  const Duration wait = std::clamp<Duration>(timers_.next() - time_.Now(), Duration::zero(), kSleepMax);
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(wait).count());
}

void EpollLoop::Sleep(const std::function<bool()>& done) {
  bell_.BeginSleep();
  const bool quiet = participant_ == nullptr || participant_->PrepareSleep();
  if (quiet && tasks_.empty() && !stopping_ && !done()) files_.Handle(SleepMilliseconds(), stopping_);
  bell_.EndSleep();
  if (participant_ != nullptr) participant_->Awake();
}

}  // namespace

std::unique_ptr<EventLoop> EventLoop::Start(const std::string& thread_name, const TimeSource& time) {
  return std::make_unique<EpollLoop>(thread_name, time);
}

}  // namespace attune::ps
