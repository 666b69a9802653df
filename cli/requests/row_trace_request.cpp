#include "cli/requests/row_trace_request.h"

#include <unistd.h>

#include <utility>

#include "base/time_source.h"
#include "cli/requests/bad_request.h"
#include "cli/requests/waiting.h"
#include "cli/runs/jobs.h"

namespace attune::cli {

StatusOr<api::RowTraceStatus> TraceRow(kube::Api& api, const kube::ObjectKey& key, const std::string& row,
                                       int seconds) {
  constexpr Duration kAnswerTakes = std::chrono::seconds(30);
  api::RowTraceRequest request{.id = {}, .seconds = static_cast<double>(seconds), .table = {}, .key = 0};
  RETURN_IF_ERROR(api::ParseRow(row, request.table, request.key));
  ASSIGN_OR_RETURN(const kube::Json object, GetJob(api, key));
  const api::TrainingJob job = api::ParseTrainingJob(object).job;
  RETURN_IF_ERROR(CheckNotEnded(job, "look at"));
  if (!job.status.abilities) {
    return Error(StatusCode::kFailedPrecondition, "job " + job.name + " has not begun; it has no rows yet");
  }
  // Differs from any other request: by time, and by process within it.
  const SystemTime time;
  request.id =
      std::to_string(static_cast<int64_t>(ToUnixSeconds(time.WallNow()) * 1000)) + "-" + std::to_string(getpid());
  const std::string text = api::ToString(request);
  const kube::Json patch = {{"metadata", {{"annotations", {{api::kAnnotationRowTrace, text}}}}}};
  RETURN_IF_ERROR(Annotate(api.Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, patch).status(),
                           "asking what happens to a row of " + key.ToString()));
  const auto answered = [&](const api::TrainingJob& seen) {
    return seen.status.row_trace && seen.status.row_trace->request == text;
  };
  auto seen = WaitForJob(api, key, std::chrono::seconds(seconds) + kAnswerTakes, answered);
  if (!seen.ok()) return Annotate(seen.status(), "waiting for what happens to row " + row);
  return *std::move(seen->status.row_trace);
}

}  // namespace attune::cli
