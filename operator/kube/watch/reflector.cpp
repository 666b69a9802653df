#include "operator/kube/watch/reflector.h"

#include <algorithm>

#include "base/log.h"

namespace attune::kube {
namespace {

constexpr size_t kQueuedSignalsMax = 10'000;
// Bounds a single OS wait, so that a far time cannot overflow the system's clock arithmetic.
constexpr Duration kLongestWait = std::chrono::minutes(10);

}  // namespace

Reflector::Reflector(Api& api, ResourceType type, ReflectorOptions options, WatchCache& cache, const TimeSource& time)
    : api_(api),
      type_(std::move(type)),
      options_(std::move(options)),
      cache_(cache),
      time_(time),
      watcher_(options_.watcher, options_.seed) {
  thread_ = std::thread([this] { Run(); });
}

Reflector::~Reflector() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void Reflector::Run() {
  Carry(watcher_.OnTime(time_.Now()));
  for (;;) {
    std::deque<WatchSignal> signals = Wait();
    {
      const MutexLock lock(mutex_);
      if (stopping_) break;
    }
    uint64_t current = watch_number_;
    for (WatchSignal& signal : signals) {
      Note(signal.status);
      Carry(watcher_.OnSignal(std::move(signal), time_.Now()));
      if (watch_number_ != current) break;  // what is left belongs to a watch that is over
    }
    Carry(watcher_.OnTime(time_.Now()));
  }
  watch_.reset();
}

std::deque<WatchSignal> Reflector::Wait() {
  const MutexLock lock(mutex_);
  counts_ = watcher_.counts();
  MonotonicTime now = time_.Now(), wake_at = watcher_.wake_at();
  Duration wait =
      wake_at == kNever ? kLongestWait : std::clamp<Duration>(wake_at - now, Duration::zero(), kLongestWait);
  turn_ = {turn_.number + 1, now + wait};
  changed_.WaitFor(mutex_, wait,
                   [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !signals_.empty(); });
  turn_ = {turn_.number + 1, {}};
  return std::exchange(signals_, {});
}

void Reflector::OnSignal(WatchSignal signal) {
  const MutexLock lock(mutex_);
  if (overflowed_) return;
  if (signals_.size() >= kQueuedSignalsMax) {
    overflowed_ = true;
    signal = {WatchSignal::Kind::kBroken,
              {},
              Error(StatusCode::kResourceExhausted,
                    "watching " + type_.plural + ": changes come faster than they are handled")};
  }
  signals_.push_back(std::move(signal));
  changed_.NotifyAll();
}

void Reflector::Carry(WatcherOutput output) {
  while (true) {
    for (WatchEvent& event : output.events) cache_.Take(std::move(event));
    if (output.command.kind == WatchCommand::Kind::kNone) return;
    watch_.reset();
    ++watch_number_;
    {
      const MutexLock lock(mutex_);
      if (stopping_) return;
      signals_.clear();
      overflowed_ = false;
    }
    if (output.command.kind == WatchCommand::Kind::kList) {
      auto list = api_.List(type_, {options_.name_space, options_.label_selector, options_.field_selector},
                            {.timeout = options_.list_timeout});
      Note(list.status());
      output = watcher_.OnListed(std::move(list), time_.Now());
    } else {
      const bool streams = output.command.kind == WatchCommand::Kind::kStream;
      auto watch = api_.StartWatch(type_,
                                   {options_.name_space, options_.label_selector, options_.field_selector,
                                    output.command.resource_version, output.command.server_timeout, streams},
                                   [this](WatchSignal signal) { OnSignal(std::move(signal)); });
      if (watch.ok()) return void(watch_ = *std::move(watch));
      // An API that has no streams is listed; nothing has failed.
      if (!streams || watch.status().code() != StatusCode::kUnimplemented) Note(watch.status());
      output = watcher_.OnSignal({WatchSignal::Kind::kBroken, {}, watch.status()}, time_.Now());
    }
  }
}

void Reflector::Note(const Status& status) {
  const MutexLock lock(mutex_);
  if (!status.ok() && status != last_failure_) {
    log::Warn("watching failed, will continue", {{"kind", type_.kind}, {"reason", status}});
  }
  last_failure_ = status;
}

WatcherCounts Reflector::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

Reflector::Turn Reflector::turn() const {
  const MutexLock lock(mutex_);
  return turn_;
}

Status Reflector::last_failure() const {
  const MutexLock lock(mutex_);
  return last_failure_;
}

}  // namespace attune::kube
