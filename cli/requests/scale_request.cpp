#include "cli/requests/scale_request.h"

#include <charconv>

namespace attune::cli {
namespace {

constexpr char kUsage[] = "write workers=N or servers=N, for example workers=3";

Status Bad(const std::string& message) { return Error(StatusCode::kInvalidArgument, message); }

Status ParseOne(const std::string& change, ScaleRequest& request) {
  const size_t equals = change.find('=');
  const std::string role = change.substr(0, equals);
  if (equals == std::string::npos) return Bad("\"" + change + "\" is no change; " + kUsage);
  const bool workers = role == "workers" || role == "worker";
  if (!workers && role != "servers" && role != "server") {
    return Bad("\"" + role + "\" cannot be scaled; " + kUsage);
  }
  const std::string number = change.substr(equals + 1);
  int32_t count = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
  if (error != std::errc() || end != number.data() + number.size() || count < 0) {
    return Bad("\"" + number + "\" is no number of " + (workers ? "workers" : "servers") + "; " + kUsage);
  }
  std::optional<int32_t>& wanted = workers ? request.workers : request.servers;
  if (wanted) return Bad(std::string(workers ? "workers" : "servers") + " is given twice; " + kUsage);
  wanted = count;
  return OkStatus();
}

Status CheckBounds(const std::string& job, const char* role, const api::Role& bounds, int32_t wanted) {
  if (wanted >= bounds.min && wanted <= bounds.max) return OkStatus();
  return Bad(std::string(role) + "=" + std::to_string(wanted) + " is outside what job " + job + " allows, " +
             std::to_string(bounds.min) + " to " + std::to_string(bounds.max) + " (spec." + role +
             ".min and max); choose a number in between, or change the bounds");
}

Status CheckServers(const api::TrainingJob& job, int32_t wanted) {
  RETURN_IF_ERROR(CheckBounds(job.name, "servers", job.spec.servers, wanted));
  if (job.spec.backups > 0 && wanted < 2) {
    return Bad("job " + job.name +
               " keeps a backup of each row (spec.servers.backups: 1), which needs at least 2 servers");
  }
  if (wanted == job.spec.servers.replicas) return OkStatus();
  if (!job.status.abilities) {
    return Error(StatusCode::kFailedPrecondition,
                 "the servers of job " + job.name + " do not serve yet (" +
                     (job.status.phase.empty() ? std::string("Pending") : job.status.phase) +
                     "); their number can change when it runs");
  }
  if (!job.status.abilities->elastic_servers) {
    return Error(StatusCode::kFailedPrecondition,
                 "the servers of job " + job.name +
                     " cannot join or leave a running job (status.abilities.elasticServers is false); delete the job, "
                     "set spec.servers.replicas, and apply it again");
  }
  return OkStatus();
}

}  // namespace

StatusOr<ScaleRequest> ParseScaleChanges(const std::vector<std::string>& changes) {
  ScaleRequest request;
  if (changes.empty()) return Bad(std::string("nothing to change; ") + kUsage);
  for (const std::string& change : changes) RETURN_IF_ERROR(ParseOne(change, request));
  return request;
}

Status CheckScale(const api::TrainingJob& job, const ScaleRequest& request) {
  if (api::IsTrue(job.status, api::kSucceeded) || api::IsTrue(job.status, api::kFailed)) {
    return Error(StatusCode::kFailedPrecondition,
                 "job " + job.name + " has ended (" + job.status.phase + "); nothing to scale");
  }
  if (request.workers) RETURN_IF_ERROR(CheckBounds(job.name, "workers", job.spec.workers, *request.workers));
  if (request.servers) RETURN_IF_ERROR(CheckServers(job, *request.servers));
  return OkStatus();
}

}  // namespace attune::cli
