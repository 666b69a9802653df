// When the end of workers is the job's end (workers.h).
#include <algorithm>

#include "operator/controller/observe/text.h"
#include "operator/controller/plan/directives.h"
#include "operator/controller/plan/evidence.h"
#include "operator/controller/plan/failure.h"
#include "operator/controller/plan/workers.h"

namespace attune::controller {
namespace {

// " (\"evaluate\": 1 item left)"
std::string WhatIsLeft(const Observed& observed) {
  const v1::Closing* word = LastWordOnClosing(observed);
  if (word == nullptr || word->data_set().empty()) return "";
  return " (\"" + FitText(word->data_set(), 64) + "\": " + Counted(static_cast<int64_t>(word->items_left()), "item") +
         " left)";
}

std::string LastCheckpoint(const Observed& observed) {
  const std::string resume = HowToResume(observed);
  return resume.empty() ? " No checkpoint was written." : resume;
}

std::string Times(int32_t count) { return count == 1 ? "once" : std::to_string(count) + " times"; }

// By what the coordinator has said; without its last report, by exit codes once it has said that the goal is reached,
// and no other worker may still be at the closing work: one beyond the wanted number does it like all others.
bool HaveEndedWell(const Observed& observed, const ServersView& servers, const WorkersView& workers) {
  if (workers.desired == 0 || workers.succeeded != workers.desired) return false;
  if (servers.closed) return true;
  const ObservedPod* host = CoordinatorPod(observed);
  const v1::Closing* word = LastWordOnClosing(observed);
  const bool known_open = word != nullptr && !word->data_set().empty();
  const bool any_leaves =
      std::ranges::any_of(workers.leaving, [](const ObservedPod* pod) { return LifeOf(*pod) == PodLife::kRunning; });
  return servers.goal_reached && !known_open && !any_leaves && (host == nullptr || !IsAlive(*host));
}

}  // namespace

std::string DescribeWorkerEnd(const Observed& observed, const ServersView& servers, const WorkersView& workers,
                              const ObservedPod& pod) {
  std::string text = DescribeEnd(observed, pod);
  if (HasFailed(pod) || !workers.HasEndedBadly(pod)) return text;
  if (servers.goal_reached) return text + " although the closing work is not done" + WhatIsLeft(observed);
  text += " before the goal was reached";
  // One that ends at once may have ended before its sidecar had connected.
  const telemetry::PodSample* sample = SampleOf(observed, pod);
  if (sample == nullptr ? workers.heard_all_along : !sample->window.has_worker()) {
    text += ", and has never joined the job: a worker's program opens a session (attune::ps::Session::Connect)";
  }
  return text;
}

std::optional<Verdict> JudgeWorkers(const Observed& observed, const ServersView& servers, const WorkersView& workers) {
  if (servers.goal_reached && observed.job.spec.run_policy.success_policy == api::SuccessPolicy::kGoalReached)
    return Verdict{true, kGoalReached, "its goal is reached, and runPolicy.successPolicy asks for no more"};
  if (HaveEndedWell(observed, servers, workers)) {
    return Verdict{
        true, kReasonAllWorkersSucceeded,
        workers.desired == 1 ? "the worker finished" : "all " + std::to_string(workers.desired) + " workers finished"};
  }
  const int32_t limit = observed.job.spec.run_policy.backoff_limit;
  if (workers.failures <= limit || servers.closed) return std::nullopt;
  const std::string closing = servers.goal_reached
                                  ? " The goal was reached, but the closing work was not done" + WhatIsLeft(observed) +
                                        ": the model is not saved." + LastCheckpoint(observed)
                                  : "";
  for (const ObservedPod* pod : workers.by_index) {
    // The failure that was one too many; the highest number when all are counted already.
    if (pod == nullptr || IsBeingDeleted(*pod) || !workers.HasEndedBadly(*pod)) continue;
    if (pod->failure_number && *pod->failure_number <= limit) continue;
    return Verdict{false, kReasonBackoffLimit,
                   pod->name + " " + DescribeWorkerEnd(observed, servers, workers, *pod) + "; workers failed " +
                       Times(workers.failures) + ", and runPolicy.backoffLimit allows " + Counted(limit, "restart") +
                       "." + closing + LogTail(observed, *pod)};
  }
  return Verdict{false, kReasonBackoffLimit,
                 "workers failed " + Times(workers.failures) + ", and runPolicy.backoffLimit allows " +
                     Counted(limit, "restart") + "." + closing};
}

}  // namespace attune::controller
