// The errors for what a user asks and cannot be.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "operator/api/training_job.h"

namespace attune::cli {

inline Status BadRequest(std::string_view message) { return Error(StatusCode::kInvalidArgument, message); }

// `what`: "there is nothing to `what`" in a job that has ended.
inline Status CheckNotEnded(const api::TrainingJob& job, std::string_view what) {
  if (!api::IsTrue(job.status, api::kSucceeded) && !api::IsTrue(job.status, api::kFailed)) return OkStatus();
  return Error(StatusCode::kFailedPrecondition,
               "job " + job.name + " has ended (" + job.status.phase + "); there is nothing to " + std::string(what));
}

}  // namespace attune::cli
