// Which object is reconciled next, and when. Three small rooms, each pure (time is an argument), and one shell:
//   DelaySchedule  when: keys that become due at a time; the earliest time wins
//   SerialTurns    which: a key once in line, and never with two workers at once
//   RetryBackoff   how long to wait after the n-th failure in a row of a key
//   WorkQueue      the shell: thread-safe, blocking Get, metrics
//
//   while (auto key = queue.Get()) {
//     if (Reconcile(*key).ok()) queue.Forget(*key); else queue.AddRateLimited(*key);
//     queue.Done(*key);
//   }
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "base/time_source.h"
#include "operator/kube/object.h"

namespace attune::kube {

class DelaySchedule {
 public:
  // A key already scheduled keeps the earlier of both times.
  void Add(const ObjectKey& key, MonotonicTime due);
  void Remove(const ObjectKey& key);
  // Takes all keys due at `now`, earliest first.
  std::vector<ObjectKey> TakeDue(MonotonicTime now);
  // When the next key is due; kNever when there is none.
  MonotonicTime NextDue() const;
  size_t size() const { return due_of_.size(); }

 private:
  std::map<ObjectKey, MonotonicTime> due_of_;
  std::set<std::pair<MonotonicTime, ObjectKey>> by_due_;
};

class SerialTurns {
 public:
  enum class Added { kQueued, kAlreadyQueued, kAfterCurrent };
  // Puts the key in line. A key being worked on is put in line when its worker is done.
  Added Add(const ObjectKey& key);
  // The first in line, now being worked on.
  std::optional<ObjectKey> Take();
  // Ends the turn of a key handed out by Take; true when the key went back in line.
  bool Done(const ObjectKey& key);
  size_t queued() const { return line_.size(); }
  size_t running() const { return running_.size(); }

 private:
  std::deque<ObjectKey> line_;
  std::set<ObjectKey> waiting_;  // in line, or to be put there when its running turn ends
  std::set<ObjectKey> running_;
};

struct BackoffOptions {
  Duration first = std::chrono::milliseconds(100);
  Duration max = std::chrono::minutes(5);
  double jitter = 0.1;  // share of the delay added at most, so that keys failing together do not retry together
};

// The delay after `failures` (>= 1) failures in a row; `uniform` in [0, 1) chooses the jitter. Never above max * (1 +
// jitter).
Duration BackoffDelay(const BackoffOptions& options, uint32_t failures, double uniform);

class RetryBackoff {
 public:
  explicit RetryBackoff(BackoffOptions options = {}) : options_(options) {}
  Duration OnFailure(const ObjectKey& key, double uniform);
  void Reset(const ObjectKey& key) { failures_.erase(key); }
  uint32_t Failures(const ObjectKey& key) const;

 private:
  BackoffOptions options_;
  std::map<ObjectKey, uint32_t> failures_;
};

struct WorkQueueMetrics {
  uint64_t depth = 0;    // in line now
  uint64_t delayed = 0;  // waiting for their time
  uint64_t running = 0;
  uint64_t adds = 0;                   // asked for, whether or not the key was already in line
  uint64_t retries = 0;                // AddRateLimited
  uint64_t taken = 0;                  // turns started
  double queue_seconds = 0;            // time in line, summed over all turns
  double work_seconds = 0;             // time being worked on, summed over ended turns
  double longest_running_seconds = 0;  // of the turns in progress
};

// Thread-safe. `time` must outlive the queue.
class WorkQueue {
 public:
  explicit WorkQueue(const TimeSource& time, BackoffOptions backoff = {}, uint64_t seed = 1);

  void Add(const ObjectKey& key);
  void AddAfter(const ObjectKey& key, Duration delay);
  // Once more after this key's backoff, which doubles with every call until Forget. Returns the delay.
  Duration AddRateLimited(const ObjectKey& key);
  // The key succeeded (or is gone): its next failure starts with the shortest delay.
  void Forget(const ObjectKey& key);

  // Waits for a key; nullopt after ShutDown. Every key returned must be ended by Done.
  std::optional<ObjectKey> Get();
  // The same without waiting.
  std::optional<ObjectKey> TryGet();
  void Done(const ObjectKey& key);

  // Wakes every Get; nothing is handed out any more and adds are ignored.
  void ShutDown();
  // When TryGet could next return a delayed key; kNever when nothing is delayed.
  MonotonicTime NextDue() const;
  WorkQueueMetrics metrics() const;
  // The keys being worked on, with the time their turns began.
  std::map<ObjectKey, MonotonicTime> Running() const;

 private:
  void AddLocked(const ObjectKey& key, MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<ObjectKey> TakeLocked(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const TimeSource& time_;
  mutable Mutex mutex_;
  CondVar changed_;
  DelaySchedule delays_ ABSL_GUARDED_BY(mutex_);
  SerialTurns turns_ ABSL_GUARDED_BY(mutex_);
  RetryBackoff backoff_ ABSL_GUARDED_BY(mutex_);
  Random random_ ABSL_GUARDED_BY(mutex_);
  std::map<ObjectKey, MonotonicTime> queued_since_ ABSL_GUARDED_BY(mutex_);
  std::map<ObjectKey, MonotonicTime> running_since_ ABSL_GUARDED_BY(mutex_);
  WorkQueueMetrics counted_ ABSL_GUARDED_BY(mutex_);
  bool shut_down_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace attune::kube
