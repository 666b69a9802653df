#include "cli/runs/job_look.h"

#include <utility>

namespace attune::cli {

StatusOr<JobView> LookAtJob(kube::Api& api, const kube::ObjectKey& key, const kube::CallOptions& call) {
  const auto object = api.Get(kube::kTrainingJobs, key, call);
  if (object.status().code() == StatusCode::kNotFound) {
    JobView gone;
    gone.name = key.name;
    gone.name_space = key.name_space;
    gone.outcome = JobView::Outcome::kDeleted;
    gone.phase = "Deleted";
    return gone;
  }
  if (!object.ok()) return object.status();
  const auto pods = GetPods(api, key);
  auto events = GetEvents(api, key, false);
  return MakeView(api::ParseTrainingJob(*object).job, pods.ok() ? *pods : std::vector<kube::Json>(),
                  events.ok() ? *std::move(events) : std::vector<JobEvent>());
}

}  // namespace attune::cli
