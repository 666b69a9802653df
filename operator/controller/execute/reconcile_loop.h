// The threads of an operator that reconcile jobs: they take keys from a queue, and what fails is tried again with
// backoff. A further one ticks, so that a pause of this process is seen as one. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/object.h"
#include "operator/kube/watch/work_queue.h"

namespace attune::controller {

class ReconcileLoop {
 public:
  // All are called from its threads.
  struct Work {
    // Blocks until jobs can be seen. False: the loop is stopping.
    std::function<bool(const std::function<bool()>& stopping)> wait_until_ready;
    // When the job is to be looked at again; nullopt: when there is news of it.
    std::function<StatusOr<std::optional<Duration>>(const kube::ObjectKey& job)> reconcile;
    std::function<void(Duration taken)> on_reconciled;
    std::function<void()> tick;  // twice a second
  };

  // `time` outlives it.
  explicit ReconcileLoop(const TimeSource& time) : time_(time), queue_(time) {}
  ~ReconcileLoop() { Stop(); }
  ReconcileLoop(const ReconcileLoop&) = delete;
  ReconcileLoop& operator=(const ReconcileLoop&) = delete;

  // Once.
  void Start(int threads, Work work);
  // No more intake; returns when what is in progress has ended.
  void Stop();

  // There is news of the job.
  void Add(const kube::ObjectKey& job) { queue_.Add(job); }
  kube::WorkQueueMetrics queue() const { return queue_.metrics(); }
  // Jobs that are being looked at, since when.
  auto Running() const { return queue_.Running(); }
  uint64_t errors() const { return errors_; }

 private:
  void Reconcile();
  void Tick();

  const TimeSource& time_;
  Work work_;
  kube::WorkQueue queue_;
  std::atomic<uint64_t> errors_ = 0;
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  CondVar stopped_;
  std::vector<std::thread> threads_;
};

}  // namespace attune::controller
