// How often a source may fail to authenticate before it has to wait: each failure costs a call of the API server. A
// source that succeeds pays nothing, so a thousand sidecars that come back together are not held up. Pure; not
// thread-safe.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>

#include "base/time_source.h"

namespace attune::telemetry {

class FailureBudget {
 public:
  static constexpr double kFailuresMax = 20;  // at once
  static constexpr double kRegainedPerSecond = 0.5;
  static constexpr size_t kSourcesMax = 4'096;  // remembered; beyond it the one that has been known longest goes

  bool MayTry(const std::string& source, MonotonicTime now) const;
  void Failed(const std::string& source, MonotonicTime now);
  size_t sources() const { return failures_.size(); }

 private:
  struct Failures {
    double count = 0;
    MonotonicTime at{};
  };
  static double CountAt(const Failures& failures, MonotonicTime now);

  std::unordered_map<std::string, Failures> failures_;
  std::deque<std::string> by_age_;  // the same sources, oldest first
};

}  // namespace attune::telemetry
