#include "operator/leadership/elector.h"

#include <algorithm>
#include <utility>

#include "base/os/random_seed.h"

namespace attune::leadership {

Elector::Elector(const ElectionOptions& options, kube::ObjectKey lease, kube::Api& api, const TimeSource& time,
                 Fence& fence, OnChange on_change)
    : time_(time),
      on_change_(std::move(on_change)),
      candidate_(options, std::move(lease), api, time, fence, RandomSeed()),
      turned_at_(time.Now()),
      thread_([this] { Run(); }) {}

Elector::~Elector() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

bool Elector::Resign(Duration at_most) {
  candidate_.Resign();
  const MutexLock lock(mutex_);
  woken_ = true;
  changed_.NotifyAll();
  changed_.WaitFor(mutex_, at_most, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return over_; });
  return candidate_.View().state == Election::State::kResigned;
}

std::string Elector::Stuck() const {
  const MutexLock lock(mutex_);
  return over_ || time_.Now() - turned_at_ < kStuckAfter ? "" : "the election has not moved for a minute";
}

void Elector::Run() {
  constexpr Duration kWaitMax = std::chrono::seconds(5);
  Election::State last = Election::State::kStandby;
  while (true) {
    const MonotonicTime next = candidate_.Act();
    const Election::State state = candidate_.View().state;
    if (std::exchange(last, state) != state) on_change_(state);
    const MutexLock lock(mutex_);
    turned_at_ = time_.Now();
    over_ = state == Election::State::kLost || state == Election::State::kResigned;
    changed_.NotifyAll();
    const auto wanted = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || woken_; };
    // By durations: the elector's clock is not the one that waits read. One that is too short is followed by another.
    if (!over_) changed_.WaitFor(mutex_, std::min(next - turned_at_, kWaitMax), wanted);
    woken_ = false;
    if (stopping_ || over_) return;
  }
}

}  // namespace attune::leadership
