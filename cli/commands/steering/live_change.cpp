#include "cli/commands/steering/live_change.h"

#include <chrono>

#include "cli/display/terminal.h"
#include "cli/requests/waiting.h"

namespace attune::cli {

Status MakeLiveChange(kube::Api& api, const kube::ObjectKey& key, const api::TrainingJob& before,
                      const LiveChange& change) {
  const auto patched = api.Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, change.patch);
  if (!patched.ok()) return Annotate(patched.status(), change.doing + " of " + key.ToString());
  if (!before.status.abilities) return OkStatus();
  Interrupts::Install();
  const auto refusal = [&](const api::TrainingJob& job) {
    const api::Condition* condition = api::FindCondition(job.status, api::kReconfiguring);
    const bool refused = condition != nullptr && condition->reason == change.refused_reason &&
                         condition->observed_generation >= job.generation;
    return refused ? condition : nullptr;
  };
  const auto job =
      WaitForJob(api, key, std::chrono::seconds(change.timeout_seconds),
                 [&](const api::TrainingJob& seen) { return change.is_in_force(seen) || refusal(seen) != nullptr; });
  if (!job.ok()) return Annotate(job.status(), change.doing);
  const api::Condition* const refused = refusal(*job);
  return refused == nullptr ? OkStatus() : Error(StatusCode::kFailedPrecondition, refused->message);
}

}  // namespace attune::cli
