// The worker's counters, and how many threads it is to compute with, behind one lock: between the program's threads and
// the reporter.
#pragma once

#include <algorithm>
#include <string>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time_source.h"
#include "ps/runtime/process/window.h"
#include "ps/runtime/worker/worker_window.h"

namespace attune::ps {

class WaitMeter {
 public:
  explicit WaitMeter(const TimeSource& time) : time_(time), window_(time.Now()) {}

  const TimeSource& time() const { return time_; }

  void AddPull(uint64_t keys) {
    const MutexLock lock(mutex_);
    window_.AddPull(keys);
  }
  void AddPush(uint64_t keys) {
    const MutexLock lock(mutex_);
    window_.AddPush(keys);
  }
  void AddWait(bool is_pull, Duration waited) {
    const MutexLock lock(mutex_);
    if (is_pull) {
      window_.AddPullWait(waited);
    } else {
      window_.AddPushWait(waited);
    }
  }
  // See WorkerWindowBuilder::AddPullTime.
  void AddTime(bool is_pull, Duration taken) {
    const MutexLock lock(mutex_);
    if (is_pull) {
      window_.AddPullTime(taken);
    } else {
      window_.AddPushTime(taken);
    }
  }
  void EndStep(uint64_t samples, double loss) {
    const MutexLock lock(mutex_);
    window_.EndStep(time_.Now(), samples, loss);
  }
  void BeginStep() {
    const MutexLock lock(mutex_);
    window_.BeginStep(time_.Now());
  }
  // What came before the first lease (reading data, building a vocabulary) is no step.
  void StartSteps() {
    const MutexLock lock(mutex_);
    if (!started_) window_.SkipTo(time_.Now());
    started_ = true;
  }
  // So is what a step was interrupted for, such as an evaluation on the way.
  void SkipToNow() {
    const MutexLock lock(mutex_);
    window_.SkipTo(time_.Now());
  }
  void SetEpoch(uint64_t epoch) {
    const MutexLock lock(mutex_);
    epoch_ = epoch;
  }
  void SetSampleUnit(std::string_view unit) {
    const MutexLock lock(mutex_);
    sample_unit_ = unit.substr(0, kUnitBytesMax);
  }
  void OfferThreads(uint32_t initial, uint32_t most) {
    const MutexLock lock(mutex_);
    threads_max_ = std::max(most, uint32_t{1});
    threads_wanted_ = threads_ = std::clamp(initial, uint32_t{1}, threads_max_);
  }
  Status WantThreads(uint32_t count) {
    const MutexLock lock(mutex_);
    if (threads_max_ == 0) {
      return Error(StatusCode::kFailedPrecondition,
                   "this worker's program chooses its threads itself; one that calls OfferThreads can be asked");
    }
    if (count < 1 || count > threads_max_) {
      return Error(StatusCode::kInvalidArgument, "this worker computes with 1 to " + std::to_string(threads_max_) +
                                                     " threads, not with " + std::to_string(count));
    }
    threads_wanted_ = count;
    return OkStatus();
  }
  // By the program: what it is given counts as what it computes with.
  uint32_t TakeThreads() {
    const MutexLock lock(mutex_);
    return threads_ = threads_wanted_;
  }
  // What it has counted since the last call.
  v1::WindowReport Take(MonotonicTime now) {
    const MutexLock lock(mutex_);
    v1::WindowReport report;
    const WorkerWindowSummary summary = window_.Take(now);
    report.set_duration_seconds(Seconds(summary.duration));
    v1::WorkerWindow& worker = *report.mutable_worker();
    Fill(summary, &worker);
    worker.set_epoch(epoch_);
    worker.set_sample_unit(sample_unit_);
    if (threads_max_ > 0) worker.set_threads(threads_);
    worker.set_threads_max(threads_max_);
    return report;
  }

 private:
  static constexpr size_t kUnitBytesMax = 64;

  const TimeSource& time_;
  Mutex mutex_;
  WorkerWindowBuilder window_ ABSL_GUARDED_BY(mutex_);
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t epoch_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string sample_unit_ ABSL_GUARDED_BY(mutex_) = "samples";
  uint32_t threads_ ABSL_GUARDED_BY(mutex_) = 1;
  uint32_t threads_wanted_ ABSL_GUARDED_BY(mutex_) = 1;
  uint32_t threads_max_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace attune::ps
