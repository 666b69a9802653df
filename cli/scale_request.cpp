#include "cli/scale_request.h"

#include <charconv>

namespace attune::cli {
namespace {

Status Bad(const std::string& message) { return Error(StatusCode::kInvalidArgument, message); }

StatusOr<int32_t> ParseOne(const std::string& change) {
  const size_t equals = change.find('=');
  const std::string role = change.substr(0, equals);
  if (equals == std::string::npos)
    return Bad("\"" + change + "\" is no change; write workers=N, for example workers=3");
  if (role == "servers" || role == "server") {
    return Bad(
        "servers cannot be scaled while a job runs yet; delete the job, set spec.servers.replicas, and apply it again");
  }
  if (role != "workers" && role != "worker") return Bad("\"" + role + "\" cannot be scaled; write workers=N");
  const std::string number = change.substr(equals + 1);
  int32_t workers = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), workers);
  if (error != std::errc() || end != number.data() + number.size() || workers < 0) {
    return Bad("\"" + number + "\" is no number of workers; write workers=N, for example workers=3");
  }
  return workers;
}

}  // namespace

StatusOr<int32_t> ParseScaleChanges(const std::vector<std::string>& changes) {
  if (changes.size() != 1) return Bad("one change at a time; write workers=N");
  return ParseOne(changes.front());
}

Status CheckScale(const api::TrainingJob& job, int32_t workers) {
  if (api::IsTrue(job.status, api::kSucceeded) || api::IsTrue(job.status, api::kFailed)) {
    return Error(StatusCode::kFailedPrecondition,
                 "job " + job.name + " has ended (" + job.status.phase + "); nothing to scale");
  }
  const api::Role& role = job.spec.workers;
  if (workers >= role.min && workers <= role.max) return OkStatus();
  return Bad("workers=" + std::to_string(workers) + " is outside what job " + job.name + " allows, " +
             std::to_string(role.min) + " to " + std::to_string(role.max) +
             " (spec.workers.min and max); choose a number in between, or change the bounds");
}

}  // namespace attune::cli
