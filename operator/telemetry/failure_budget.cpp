#include "operator/telemetry/failure_budget.h"

#include <algorithm>

namespace attune::telemetry {

double FailureBudget::CountAt(const Failures& failures, MonotonicTime now) {
  return std::max(0.0, failures.count - kRegainedPerSecond * Seconds(now - failures.at));
}

bool FailureBudget::MayTry(const std::string& source, MonotonicTime now) const {
  const auto found = failures_.find(source);
  return found == failures_.end() || CountAt(found->second, now) <= kFailuresMax - 1;
}

void FailureBudget::Failed(const std::string& source, MonotonicTime now) {
  if (!failures_.contains(source)) {
    if (by_age_.size() >= kSourcesMax) {
      failures_.erase(by_age_.front());
      by_age_.pop_front();
    }
    by_age_.push_back(source);
  }
  Failures& failures = failures_[source];
  failures = {CountAt(failures, now) + 1, now};
}

}  // namespace attune::telemetry
