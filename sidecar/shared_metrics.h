// The sidecar's metrics between the thread that observes windows and those that serve scrapes. Thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "base/mutex.h"
#include "sidecar/metrics.h"

namespace attune::sidecar {

class SharedMetrics {
 public:
  // The process is another one now, or none.
  void Clear() {
    const MutexLock lock(mutex_);
    metrics_.Clear();
  }
  void Observe(const v1::WindowReport& window, const std::optional<v1::ProcessUsage>& usage) {
    const MutexLock lock(mutex_);
    metrics_.Observe(window, usage);
  }
  void SetCounters(const RelayCounters& counters) {
    const MutexLock lock(mutex_);
    counters_ = counters;
  }
  std::vector<MetricValue> Values() const {
    const MutexLock lock(mutex_);
    return metrics_.Values(counters_);
  }

 private:
  mutable Mutex mutex_;
  Metrics metrics_ ABSL_GUARDED_BY(mutex_);
  RelayCounters counters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attune::sidecar
