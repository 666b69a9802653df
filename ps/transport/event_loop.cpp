#include "ps/transport/event_loop.h"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"
#include "base/os/file_descriptor.h"
#include "ps/transport/cores.h"

namespace attune::ps {
namespace {

constexpr Duration kSleepMax = std::chrono::hours(1);
// After a thread has driven the loop while it waited, the loop's own thread gives way for so long: the next wait is
// likely to follow.
constexpr Duration kGiveWay = std::chrono::milliseconds(1);
constexpr Duration kGiveWayLong = std::chrono::milliseconds(2);  // while a thread drives
// An answer that comes within this time is cheaper to wait for awake. Only where a second core can bring it.
constexpr Duration kSpin = std::chrono::microseconds(40);
constexpr int kSpinScoreMax = 64;
constexpr int kSpinProbeEvery = 256;  // sleeps without a spin, while spinning did not pay
constexpr int kPollsPerSpin = 16;
constexpr int kTurnsPerLook = 16;  // rounds of participants between two looks at files
constexpr uint64_t kBellId = 0;

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Whether waiting awake has paid lately.
class SpinJudge {
 public:
  explicit SpinJudge(int cores) : allowed_(cores > 1) {}
  bool ShouldSpin() {
    if (!allowed_) return false;
    if (score_ > 0) return true;
    return ++skipped_ % kSpinProbeEvery == 0;
  }
  void Ended(bool paid) { score_ = std::clamp(score_ + (paid ? 2 : -3), 0, kSpinScoreMax); }

 private:
  const bool allowed_;
  int score_ = 8;
  int skipped_ = 0;
};

class EpollLoop final : public EventLoop {
 public:
  EpollLoop(const std::string& thread_name, const TimeSource& time)
      : time_(time),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)),
        bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        spin_(AvailableCores()) {
    ATTUNE_CHECK(epoll_.valid() && bell_.valid())
        << "no file descriptors left for an event loop; raise the limit (ulimit -n)";
    epoll_event event{.events = EPOLLIN, .data = {.u64 = kBellId}};
    ATTUNE_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, bell_.get(), &event) == 0) << "epoll_ctl";
    thread_ = std::thread([this] { Run(); });
    ::pthread_setname_np(thread_.native_handle(), thread_name.substr(0, 15).c_str());
  }
  ~EpollLoop() override {
    Stop();
    if (thread_.joinable()) thread_.join();
    tasks_.clear();
  }

  void Post(std::function<void()> task) override {
    {
      const MutexLock lock(tasks_mutex_);
      tasks_.push_back(std::move(task));
      has_tasks_ = true;
    }
    RingIfAsleep();
    if (!driven_) WakeOwnThread();
  }

  bool InLoop() const override { return driver_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

  void Stop() override {
    stopping_ = true;
    Ring();
    WakeOwnThread();
    if (InLoop()) return;
    if (thread_.joinable()) thread_.join();
    const MutexLock wait_for_others(baton_);
    stopped_ = true;
  }
  bool stopped() const override { return stopped_; }

  void WaitFor(const std::function<bool()>& done, const std::function<void()>& sleep) override;
  void Wake() override { RingIfAsleep(); }

  std::unique_ptr<Timer> NewTimer() override { return std::make_unique<LoopTimer>(*this); }
  std::unique_ptr<Watch> WatchFile(int fd, Ready ready) override {
    return std::make_unique<LoopWatch>(*this, fd, std::move(ready));
  }
  void SetParticipant(Participant* participant) override { participant_ = participant; }
  const TimeSource& time() const override { return time_; }

 private:
  class LoopTimer;
  using Timers = std::multimap<MonotonicTime, LoopTimer*>;

  class LoopTimer final : public Timer {
   public:
    explicit LoopTimer(EpollLoop& loop) : loop_(loop) {}
    ~LoopTimer() override { Cancel(); }
    void SetAt(MonotonicTime when, std::function<void()> fire) override {
      Cancel();
      fire_ = std::move(fire);
      place_ = loop_.timers_.emplace(when, this);
      set_ = true;
    }
    void Cancel() override {
      if (std::exchange(set_, false)) loop_.timers_.erase(place_);
    }
    void Fire() {
      Cancel();
      const std::function<void()> fire = std::move(fire_);  // may set the timer again, or destroy it
      fire();
    }

   private:
    EpollLoop& loop_;
    std::function<void()> fire_;
    std::multimap<MonotonicTime, LoopTimer*>::iterator place_;
    bool set_ = false;
  };

  class LoopWatch final : public Watch {
   public:
    LoopWatch(EpollLoop& loop, int fd, Ready ready) : loop_(loop), fd_(fd), id_(++loop.last_watch_) {
      loop_.watches_.emplace(id_, std::make_shared<Ready>(std::move(ready)));
    }
    ~LoopWatch() override {
      Want(false, false);
      loop_.watches_.erase(id_);
    }
    void Want(bool readable, bool writable) override {
      const uint32_t events = (readable ? EPOLLIN | EPOLLRDHUP : 0U) | (writable ? EPOLLOUT : 0U);
      if (events == events_) return;
      epoll_event event{.events = events, .data = {.u64 = id_}};
      const int operation = events_ == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
      ATTUNE_CHECK(::epoll_ctl(loop_.epoll_.get(), operation, fd_, &event) == 0) << "epoll_ctl of descriptor " << fd_;
      events_ = events;
    }

   private:
    EpollLoop& loop_;
    const int fd_;
    const uint64_t id_;
    uint32_t events_ = 0;
  };

  void Run();
  void GiveWay();
  void Drive(const std::function<bool()>& done) ABSL_EXCLUSIVE_LOCKS_REQUIRED(baton_);
  bool HandleFiles(int timeout_ms);
  bool RunTasks();
  void FireTimers();
  bool Spin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(baton_);
  void Sleep(const std::function<bool()>& done);
  int SleepMilliseconds() const;

  void Ring() {
    const uint64_t one = 1;
    (void)!::write(bell_.get(), &one, sizeof one);
  }
  void RingIfAsleep() {
    if (asleep_.exchange(false)) Ring();
  }
  void WakeOwnThread() {
    if (!giving_way_) return;
    {
      const MutexLock lock(way_mutex_);
      take_over_ = true;
    }
    way_.NotifyOne();
  }

  const TimeSource& time_;
  const FileDescriptor epoll_, bell_;

  Mutex tasks_mutex_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(tasks_mutex_);
  std::atomic<bool> has_tasks_ = false;

  std::atomic<bool> stopping_ = false;
  std::atomic<bool> stopped_ = false;

  // Held by the driver; guards what follows. Handlers, which run with it held, come to timers, watches and participant
  // through interfaces that the thread-safety analysis does not see through, so these three are not annotated.
  Mutex baton_;
  std::atomic<std::thread::id> driver_{};
  std::atomic<bool> driven_ = false;
  Timers timers_;
  std::unordered_map<uint64_t, std::shared_ptr<Ready>> watches_;
  uint64_t last_watch_ = kBellId;
  Participant* participant_ = nullptr;
  SpinJudge spin_ ABSL_GUARDED_BY(baton_);
  int turns_without_look_ ABSL_GUARDED_BY(baton_) = 0;
  bool waiters_seen_ ABSL_GUARDED_BY(baton_) = false;  // since the own thread took over

  std::atomic<bool> asleep_ = false;  // the driver sleeps, or is about to: ring
  std::atomic<int> waiters_ = 0;      // threads within WaitFor that do not drive
  std::atomic<uint64_t> drives_ = 0;  // by other threads
  std::atomic<bool> giving_way_ = false;
  Mutex way_mutex_;
  CondVar way_;
  bool take_over_ ABSL_GUARDED_BY(way_mutex_) = false;

  std::thread thread_;
};

// --- who drives

void EpollLoop::Run() {
  while (!stopping_) {
    {
      const MutexLock baton(baton_);
      driver_ = std::this_thread::get_id();
      driven_ = true;
      waiters_seen_ = false;
      // A caller that waits now is served; when the last of them has got its answer, the next wait may be spent
      // driving.
      Drive([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(baton_) {
        const int waiting = waiters_;
        waiters_seen_ = waiters_seen_ || waiting > 0;
        return stopping_ || (waiters_seen_ && waiting == 0);
      });
      driven_ = false;
      driver_ = std::thread::id();
    }
    if (!stopping_) GiveWay();
  }
}

// Until no thread has driven for a moment, or a caller asks.
void EpollLoop::GiveWay() {
  const MutexLock lock(way_mutex_);
  giving_way_ = true;
  uint64_t seen = drives_;
  while (!take_over_ && !stopping_) {
    if (!driven_ && has_tasks_) break;
    const bool asked = way_.WaitFor(way_mutex_, driven_ ? kGiveWayLong : kGiveWay,
                                    [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(way_mutex_) { return take_over_; });
    if (asked) break;
    const uint64_t now = drives_;
    if (!driven_ && now == seen) break;
    seen = now;
  }
  take_over_ = false;
  giving_way_ = false;
}

void EpollLoop::WaitFor(const std::function<bool()>& done, const std::function<void()>& sleep) {
  ++waiters_;  // before the try: a driver that leaves meanwhile sees it and has the loop's own thread take over
  if (!stopping_ && baton_.try_lock()) {
    {
      const MutexLock baton(baton_, std::adopt_lock);
      --waiters_;
      driver_ = std::this_thread::get_id();
      driven_ = true;
      ++drives_;
      Drive([&] { return stopping_ || done(); });
      driven_ = false;
      driver_ = std::thread::id();
    }
    if (waiters_ > 0 || has_tasks_) WakeOwnThread();
    if (!done()) sleep();  // the loop is being stopped
    return;
  }
  sleep();
  if (--waiters_ == 0 && driven_) RingIfAsleep();  // the own thread may give way now
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
    if (HandleFiles(0) || worked) continue;
    if (Spin()) continue;
    Sleep(done);
  }
}

bool EpollLoop::RunTasks() {
  if (!has_tasks_) return false;
  std::deque<std::function<void()>> tasks;
  {
    const MutexLock lock(tasks_mutex_);
    tasks.swap(tasks_);
    has_tasks_ = false;
  }
  for (std::function<void()>& task : tasks) {
    if (stopping_) return true;
    task();
    task = nullptr;
  }
  return true;
}

void EpollLoop::FireTimers() {
  if (timers_.empty()) return;
  const MonotonicTime now = time_.Now();
  while (!timers_.empty() && timers_.begin()->first <= now && !stopping_) timers_.begin()->second->Fire();
}

bool EpollLoop::HandleFiles(int timeout_ms) {
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms);
  bool any = false;
  for (int i = 0; i < count && !stopping_; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.u64 == kBellId) {
      uint64_t rung;
      (void)!::read(bell_.get(), &rung, sizeof rung);
      continue;
    }
    const auto it = watches_.find(event.data.u64);
    if (it == watches_.end()) continue;  // a handler before this one has ended it
    any = true;
    const std::shared_ptr<Ready> ready = it->second;
    const bool ended = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
    (*ready)(ended || (event.events & (EPOLLIN | EPOLLRDHUP)) != 0, ended || (event.events & EPOLLOUT) != 0);
  }
  return any;
}

// Looks for a while without sleeping; true when there was something to do.
bool EpollLoop::Spin() {
  if (!spin_.ShouldSpin()) return false;
  const MonotonicTime until = time_.Now() + kSpin;
  bool found = false;
  do {
    for (int i = 0; i < kPollsPerSpin && !found; ++i) {
      found = has_tasks_ || (participant_ != nullptr && participant_->Poll());
      Pause();
    }
    found = found || HandleFiles(0);
    if (!found) ::sched_yield();
  } while (!found && !stopping_ && time_.Now() < until);
  spin_.Ended(found);
  return found;
}

int EpollLoop::SleepMilliseconds() const {
  const MonotonicTime next = timers_.empty() ? kNever : timers_.begin()->first;
  const Duration wait = std::clamp<Duration>(next - time_.Now(), Duration::zero(), kSleepMax);
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(wait).count());
}

void EpollLoop::Sleep(const std::function<bool()>& done) {
  asleep_ = true;
  const bool quiet = participant_ == nullptr || participant_->PrepareSleep();
  if (quiet && !has_tasks_ && !stopping_ && !done()) HandleFiles(SleepMilliseconds());
  asleep_ = false;
  if (participant_ != nullptr) participant_->Awake();
}

}  // namespace

std::unique_ptr<EventLoop> EventLoop::Start(const std::string& thread_name, const TimeSource& time) {
  return std::make_unique<EpollLoop>(thread_name, time);
}

}  // namespace attune::ps
