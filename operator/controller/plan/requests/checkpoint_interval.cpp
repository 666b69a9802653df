#include "operator/controller/plan/requests/checkpoint_interval.h"

#include <algorithm>

namespace attune::controller {
namespace {

constexpr Duration kFirstAfter = std::chrono::minutes(10);
constexpr Duration kShortest = std::chrono::minutes(5), kLongest = std::chrono::hours(1);
constexpr int kTimesTheLastOne = 50;

}  // namespace

bool CheckpointsOutlastPods(const api::TrainingJob& job, const PlanOptions& options) {
  return !job.spec.checkpoint.directory.empty() || !job.spec.model.claim.empty() ||
         !options.default_model_claim.empty();
}

std::optional<CheckpointSchedule> ScheduleOf(const api::TrainingJob& job, const PlanOptions& options) {
  if (const std::optional<int64_t>& stated = job.spec.checkpoint.interval_seconds) {
    if (*stated == 0) return std::nullopt;
    return CheckpointSchedule{std::chrono::seconds(*stated), false};
  }
  if (job.spec.backups > 0 || !CheckpointsOutlastPods(job, options)) return std::nullopt;
  const auto& last = job.status.checkpoint;
  if (!last || last->time.empty()) return CheckpointSchedule{kFirstAfter, true};
  const auto took = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::clamp(last->seconds.value_or(0), 0.0, 86400.0)));
  return CheckpointSchedule{std::clamp(kTimesTheLastOne * took, kShortest, kLongest), true};
}

std::optional<Duration> LastCheckpointTook(const Observed& observed) {
  std::optional<Duration> took;
  MonotonicTime newest{};
  for (const auto& [key, answer] : observed.sample.answers) {
    const auto sent = observed.sent.find(key);
    const bool done = answer.outcome == telemetry::DirectiveAnswer::Outcome::kDone;
    if (!key.starts_with("checkpoint") || !done || sent == observed.sent.end()) continue;
    if (answer.at < sent->second || answer.at < newest) continue;
    newest = answer.at;
    took = answer.at - sent->second;
  }
  return took;
}

}  // namespace attune::controller
