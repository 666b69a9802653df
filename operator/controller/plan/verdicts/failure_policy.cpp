#include "operator/controller/plan/verdicts/failure_policy.h"

#include <string>

#include "operator/controller/plan/failure.h"

namespace attune::controller {

std::optional<Verdict> JudgeFailurePolicy(const Observed& observed, const ServersView& servers,
                                          const WorkersView& workers) {
  if (servers.closed) return std::nullopt;
  for (const ObservedPod& pod : observed.pods) {
    const bool is_server = IsServerOf(observed, pod);
    if (!is_server && !IsWorkerOf(observed, pod)) continue;
    const bool failed = is_server ? servers.HasEndedBadly(pod) : workers.HasEndedBadly(pod);
    if (!failed || IsBeingDeleted(pod) || pod.failure_number) continue;
    const FailureMeaning meaning = MeaningOf(observed, pod);
    if (meaning.action != api::FailureAction::kFailJob) continue;
    return Verdict{false, kReasonFailurePolicy,
                   pod.name + " " + DescribeEnd(observed, pod) + "; " + meaning.rule_text() + " says FailJob." +
                       HowToResume(observed) + LogTail(observed, pod)};
  }
  return std::nullopt;
}

}  // namespace attune::controller
