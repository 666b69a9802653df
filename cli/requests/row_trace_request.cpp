#include "cli/requests/row_trace_request.h"

#include <utility>

#include "base/time_source.h"
#include "cli/requests/bad_request.h"
#include "cli/requests/waiting.h"
#include "cli/runs/jobs.h"

namespace attune::cli {

StatusOr<api::RowTraceStatus> TraceRow(kube::Api& api, const kube::ObjectKey& key, api::RowTraceRequest request) {
  constexpr Duration kAnswerTakes = std::chrono::seconds(30);
  ASSIGN_OR_RETURN(const kube::Json object, GetJob(api, key));
  const api::TrainingJob job = api::ParseTrainingJob(object).job;
  RETURN_IF_ERROR(CheckNotEnded(job, "look at"));
  if (!job.status.abilities) {
    return Error(StatusCode::kFailedPrecondition, "job " + job.name + " has not begun; it has no rows yet");
  }
  request.id = NewRequestId();
  const std::string text = api::ToString(request);
  const kube::Json patch = {{"metadata", {{"annotations", {{api::kAnnotationRowTrace, text}}}}}};
  RETURN_IF_ERROR(Annotate(api.Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, patch).status(),
                           "asking what happens to a row of " + key.ToString()));
  const auto answered = [&](const api::TrainingJob& seen) {
    return seen.status.row_trace && seen.status.row_trace->request == text;
  };
  const auto looked_at = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(request.seconds));
  auto seen = WaitForJob(api, key, looked_at + kAnswerTakes, answered);
  if (!seen.ok()) return Annotate(seen.status(), "waiting for what happens to a row of table " + request.table);
  return *std::move(seen->status.row_trace);
}

}  // namespace attune::cli
