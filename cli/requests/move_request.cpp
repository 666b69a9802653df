#include "cli/requests/move_request.h"

#include <algorithm>

#include "cli/requests/bad_request.h"
#include "cli/requests/waiting.h"
#include "cli/runs/jobs.h"

namespace attune::cli {
namespace {

// A value of the annotation is a line of words.
bool IsName(const std::string& text) {
  return !text.empty() && text.size() <= 253 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

}  // namespace

Status CheckMove(const api::TrainingJob& job, const RequestedMove& wanted) {
  if (!IsName(wanted.pod)) {
    return Error(StatusCode::kInvalidArgument, "\"" + wanted.pod + "\" is no pod; write worker-1, or server-0");
  }
  if (!wanted.to.empty() && !IsName(wanted.to)) {
    return Error(StatusCode::kInvalidArgument, "--to \"" + wanted.to + "\" is no name of a machine");
  }
  RETURN_IF_ERROR(CheckNotEnded(job, "move"));
  const auto& move = job.status.move;
  if (move && move->state == api::kMoving) {
    return Error(StatusCode::kFailedPrecondition, "one pod moves at a time: " + move->message +
                                                      ". Wait for it, or withdraw it: kubectl annotate tj " + job.name +
                                                      " attune.dev/move-");
  }
  return OkStatus();
}

std::string MoveText(const RequestedMove& wanted, const std::string& id) {
  return wanted.pod + (wanted.to.empty() ? "" : " to=" + wanted.to) + " id=" + id;
}

StatusOr<std::string> MovePod(kube::Api& api, const kube::ObjectKey& key, const RequestedMove& wanted,
                              Duration timeout) {
  ASSIGN_OR_RETURN(const kube::Json object, GetJob(api, key));
  RETURN_IF_ERROR(CheckMove(api::ParseTrainingJob(object).job, wanted));
  const std::string request = MoveText(wanted, NewRequestId());
  const kube::Json patch = {{"metadata", {{"annotations", {{api::kAnnotationMove, request}}}}}};
  RETURN_IF_ERROR(Annotate(api.Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, patch).status(),
                           "asking for a move in " + key.ToString()));
  const auto ended = [&](const api::TrainingJob& seen) {
    const auto& move = seen.status.move;
    return move && move->request == request && move->state != api::kMoving;
  };
  const auto job = WaitForJob(api, key, timeout, ended);
  if (!job.ok()) return Annotate(job.status(), "waiting for the move; the operator continues with it");
  const api::MoveStatus& move = *job->status.move;
  if (move.state == api::kMoved) return move.message;
  return Error(StatusCode::kFailedPrecondition, move.message);
}

}  // namespace attune::cli
