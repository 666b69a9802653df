// The worker's counters behind one lock, filled by the program's threads and emptied by the reporter.
#pragma once

#include <mutex>
#include <string>

#include "base/time_source.h"
#include "ps/runtime/reporter.h"
#include "ps/runtime/window.h"

namespace attune::ps {

class WaitMeter {
 public:
  explicit WaitMeter(const TimeSource& time) : time_(time), window_(time.Now()) {}

  const TimeSource& time() const { return time_; }

  void AddPull(uint64_t keys) {
    std::lock_guard lock(mutex_);
    window_.AddPull(keys);
  }
  void AddPush(uint64_t keys) {
    std::lock_guard lock(mutex_);
    window_.AddPush(keys);
  }
  void AddWait(bool is_pull, Duration waited) {
    std::lock_guard lock(mutex_);
    if (is_pull) {
      window_.AddPullWait(waited);
    } else {
      window_.AddPushWait(waited);
    }
  }
  void EndStep(uint64_t samples, double loss) {
    std::lock_guard lock(mutex_);
    window_.EndStep(time_.Now(), samples, loss);
  }
  // What came before the first lease (reading data, building a vocabulary) is no step.
  void StartSteps() {
    std::lock_guard lock(mutex_);
    if (!started_) window_.SkipTo(time_.Now());
    started_ = true;
  }
  void SetEpoch(uint64_t epoch) {
    std::lock_guard lock(mutex_);
    epoch_ = epoch;
  }
  void SetSampleUnit(std::string_view unit) {
    std::lock_guard lock(mutex_);
    sample_unit_ = unit.substr(0, kUnitBytesMax);
  }
  WorkerTelemetry Take(MonotonicTime now) {
    std::lock_guard lock(mutex_);
    WorkerTelemetry telemetry;
    telemetry.window = window_.Take(now);
    telemetry.epoch = epoch_;
    telemetry.sample_unit = sample_unit_;
    return telemetry;
  }

 private:
  static constexpr size_t kUnitBytesMax = 64;

  const TimeSource& time_;
  std::mutex mutex_;
  WorkerWindowBuilder window_;
  bool started_ = false;
  uint64_t epoch_ = 0;
  std::string sample_unit_ = "samples";
};

}  // namespace attune::ps
