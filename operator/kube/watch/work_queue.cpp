#include "operator/kube/watch/work_queue.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace attune::kube {
namespace {

// The OS wait is cut into pieces of at most this, so that a far deadline cannot overflow the system's clock arithmetic.
constexpr Duration kLongestKeyWait = std::chrono::hours(1);

}  // namespace

void DelaySchedule::Add(const ObjectKey& key, MonotonicTime due) {
  auto [place, is_new] = due_of_.try_emplace(key, due);
  if (!is_new) {
    if (place->second <= due) return;
    by_due_.erase({place->second, key});
    place->second = due;
  }
  by_due_.emplace(due, key);
}

void DelaySchedule::Remove(const ObjectKey& key) {
  auto place = due_of_.find(key);
  if (place == due_of_.end()) return;
  by_due_.erase({place->second, key});
  due_of_.erase(place);
}

std::vector<ObjectKey> DelaySchedule::TakeDue(MonotonicTime now) {
  std::vector<ObjectKey> due;
  while (!by_due_.empty() && by_due_.begin()->first <= now) {
    due.push_back(by_due_.begin()->second);
    due_of_.erase(due.back());
    by_due_.erase(by_due_.begin());
  }
  return due;
}

MonotonicTime DelaySchedule::NextDue() const { return by_due_.empty() ? kNever : by_due_.begin()->first; }

SerialTurns::Added SerialTurns::Add(const ObjectKey& key) {
  if (!waiting_.insert(key).second) return Added::kAlreadyQueued;
  if (running_.contains(key)) return Added::kAfterCurrent;
  line_.push_back(key);
  return Added::kQueued;
}

std::optional<ObjectKey> SerialTurns::Take() {
  if (line_.empty()) return std::nullopt;
  ObjectKey key = std::move(line_.front());
  line_.pop_front();
  waiting_.erase(key);
  running_.insert(key);
  return key;
}

bool SerialTurns::Done(const ObjectKey& key) {
  ATTUNE_CHECK(running_.erase(key) == 1) << "Done without Get: " << key.ToString();
  if (!waiting_.contains(key)) return false;
  line_.push_back(key);
  return true;
}

Duration BackoffDelay(const BackoffOptions& options, uint32_t failures, double uniform) {
  double factor = std::exp2(std::min<uint32_t>(failures, 63) - 1.0);
  double seconds = std::min(Seconds(options.first) * factor, Seconds(options.max));
  seconds *= 1 + options.jitter * uniform;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

Duration RetryBackoff::OnFailure(const ObjectKey& key, double uniform) {
  uint32_t& failures = failures_[key];
  failures = std::min<uint32_t>(failures + 1, 63);
  return BackoffDelay(options_, failures, uniform);
}

uint32_t RetryBackoff::Failures(const ObjectKey& key) const {
  auto found = failures_.find(key);
  return found == failures_.end() ? 0 : found->second;
}

WorkQueue::WorkQueue(const TimeSource& time, BackoffOptions backoff, uint64_t seed)
    : time_(time), backoff_(backoff), random_(seed) {}

void WorkQueue::AddLocked(const ObjectKey& key, MonotonicTime now) {
  // Whatever was planned for later is covered by the turn that comes now.
  delays_.Remove(key);
  if (turns_.Add(key) != SerialTurns::Added::kAlreadyQueued) queued_since_.try_emplace(key, now);
}

void WorkQueue::Add(const ObjectKey& key) {
  const MutexLock lock(mutex_);
  if (shut_down_) return;
  ++counted_.adds;
  AddLocked(key, time_.Now());
  changed_.NotifyOne();
}

void WorkQueue::AddAfter(const ObjectKey& key, Duration delay) {
  if (delay <= Duration::zero()) return Add(key);
  const MutexLock lock(mutex_);
  if (shut_down_) return;
  ++counted_.adds;
  delays_.Add(key, time_.Now() + delay);
  changed_.NotifyOne();
}

Duration WorkQueue::AddRateLimited(const ObjectKey& key) {
  const MutexLock lock(mutex_);
  Duration delay = backoff_.OnFailure(key, random_.Uniform());
  if (shut_down_) return delay;
  ++counted_.adds;
  ++counted_.retries;
  delays_.Add(key, time_.Now() + delay);
  changed_.NotifyOne();
  return delay;
}

void WorkQueue::Forget(const ObjectKey& key) {
  const MutexLock lock(mutex_);
  backoff_.Reset(key);
}

std::optional<ObjectKey> WorkQueue::TakeLocked(MonotonicTime now) {
  if (shut_down_) return std::nullopt;
  for (const ObjectKey& key : delays_.TakeDue(now)) AddLocked(key, now);
  std::optional<ObjectKey> key = turns_.Take();
  if (!key) return key;
  ++counted_.taken;
  auto since = queued_since_.find(*key);
  counted_.queue_seconds += Seconds(now - since->second);
  queued_since_.erase(since);
  running_since_[*key] = now;
  // Several delayed keys may have become due at once while only this thread woke.
  if (turns_.queued() > 0) changed_.NotifyOne();
  return key;
}

std::optional<ObjectKey> WorkQueue::TryGet() {
  const MutexLock lock(mutex_);
  return TakeLocked(time_.Now());
}

std::optional<ObjectKey> WorkQueue::Get() {
  const MutexLock lock(mutex_);
  while (!shut_down_) {
    MonotonicTime now = time_.Now();
    if (std::optional<ObjectKey> key = TakeLocked(now)) return key;
    MonotonicTime next = delays_.NextDue();
    Duration wait = next == kNever ? kLongestKeyWait : std::min<Duration>(next - now, kLongestKeyWait);
    changed_.WaitFor(mutex_, wait);
  }
  return std::nullopt;
}

void WorkQueue::Done(const ObjectKey& key) {
  const MutexLock lock(mutex_);
  bool again = turns_.Done(key);
  auto since = running_since_.find(key);
  counted_.work_seconds += Seconds(time_.Now() - since->second);
  running_since_.erase(since);
  if (again) changed_.NotifyOne();
}

void WorkQueue::ShutDown() {
  const MutexLock lock(mutex_);
  shut_down_ = true;
  changed_.NotifyAll();
}

MonotonicTime WorkQueue::NextDue() const {
  const MutexLock lock(mutex_);
  return delays_.NextDue();
}

std::map<ObjectKey, MonotonicTime> WorkQueue::Running() const {
  const MutexLock lock(mutex_);
  return running_since_;
}

WorkQueueMetrics WorkQueue::metrics() const {
  const MutexLock lock(mutex_);
  WorkQueueMetrics metrics = counted_;
  metrics.depth = turns_.queued();
  metrics.delayed = delays_.size();
  metrics.running = turns_.running();
  MonotonicTime now = time_.Now();
  for (const auto& [key, since] : running_since_) {
    metrics.longest_running_seconds = std::max(metrics.longest_running_seconds, Seconds(now - since));
  }
  return metrics;
}

}  // namespace attune::kube
