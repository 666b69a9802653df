#include "operator/controller/plan/verdicts/deadline.h"

#include <string>

#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/evidence.h"

namespace attune::controller {

std::optional<Duration> UntilDeadline(const Observed& observed, Now now) {
  const auto seconds = observed.job.spec.run_policy.active_deadline_seconds;
  const api::TrainingJobStatus& status = observed.job.status;
  const bool continued = status.suspension && !status.suspension->resumed.empty();
  const auto from = ParseRfc3339(continued ? status.suspension->resumed : status.start_time);
  if (!seconds || !from) return std::nullopt;
  return std::chrono::duration_cast<Duration>(*from + std::chrono::seconds(*seconds) - now.wall);
}

std::optional<Verdict> JudgeDeadline(const Observed& observed, const ServersView& servers, Now now) {
  const auto left = UntilDeadline(observed, now);
  if (!left || *left > Duration::zero() || servers.closed) return std::nullopt;
  return Verdict{false, kReasonDeadline,
                 "the job had not ended after the " +
                     std::to_string(*observed.job.spec.run_policy.active_deadline_seconds) +
                     " s that spec.runPolicy.activeDeadlineSeconds allows." + HowToResume(observed)};
}

}  // namespace attune::controller
