#include "cli/requests/scale_request.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "cli/requests/bad_request.h"
#include "operator/controller/objects/pod_resources.h"
#include "operator/kube/quantity.h"

namespace attune::cli {
namespace {

constexpr char kUsage[] =
    "write workers=N, servers=N, or worker-cpu, worker-memory, server-cpu, server-memory with an amount, for example "
    "workers=3 or worker-memory=2Gi";

// One figure of one pod, by its name on the command line.
struct Size {
  const char* name;
  controller::RoleName role;
  bool is_cpu;

  std::optional<int64_t>& In(ScaleRequest& request) const {
    SizeRequest& size = role == controller::RoleName::kWorker ? request.worker : request.server;
    return is_cpu ? size.cpu : size.memory;
  }
  std::optional<int64_t> In(const ScaleRequest& request) const {
    const SizeRequest& size = role == controller::RoleName::kWorker ? request.worker : request.server;
    return is_cpu ? size.cpu : size.memory;
  }
  const api::ResourceTarget& Of(const api::TrainingJob& job) const {
    const api::RoleResources& resources = controller::RoleOf(job, role).resources;
    return is_cpu ? resources.cpu : resources.memory;
  }
  std::string roles() const { return std::string(controller::ToString(role)) + "s"; }
  const char* resource() const { return is_cpu ? "cpu" : "memory"; }
  std::string path() const { return "spec." + roles() + ".resources." + resource(); }
  int64_t least() const { return is_cpu ? api::kMillicoresMin : api::kMemoryMin; }
  std::string Text(int64_t amount) const {
    return is_cpu ? kube::FormatMillicores(amount) : kube::FormatByteCount(amount);
  }
};
constexpr Size kSizes[] = {{"worker-cpu", controller::RoleName::kWorker, true},
                           {"worker-memory", controller::RoleName::kWorker, false},
                           {"server-cpu", controller::RoleName::kServer, true},
                           {"server-memory", controller::RoleName::kServer, false}};

Status ParseSize(const Size& size, const std::string& text, ScaleRequest& request) {
  const std::optional<int64_t> amount = size.is_cpu ? kube::ParseMillicores(text) : kube::ParseByteCount(text);
  if (!amount) {
    return BadRequest("\"" + text + "\" is no amount of " + size.resource() +
                      "; write it as in a pod's resources, for example " + size.name +
                      (size.is_cpu ? "=500m or =2" : "=512Mi or =2Gi"));
  }
  std::optional<int64_t>& wanted = size.In(request);
  if (wanted) return BadRequest(std::string(size.name) + " is given twice; " + kUsage);
  wanted = amount;
  return OkStatus();
}

Status CheckSize(const api::TrainingJob& job, const Size& size, int64_t wanted) {
  const api::ResourceTarget& bounds = size.Of(job);
  const int64_t least = std::max(bounds.min.value_or(size.least()), size.least());
  if (wanted >= least && (!bounds.max || wanted <= *bounds.max)) return OkStatus();
  return BadRequest(std::string(size.name) + "=" + size.Text(wanted) + " is outside what job " + job.name +
                    " allows, " + size.Text(least) + (bounds.max ? " to " + size.Text(*bounds.max) : " or more") +
                    " (" + size.path() + ".min and max); choose an amount in between, or change the bounds");
}

Status ParseOne(const std::string& change, ScaleRequest& request) {
  const size_t equals = change.find('=');
  const std::string role = change.substr(0, equals);
  if (equals == std::string::npos) return BadRequest("\"" + change + "\" is no change; " + kUsage);
  for (const Size& size : kSizes) {
    if (role == size.name) return ParseSize(size, change.substr(equals + 1), request);
  }
  const bool workers = role == "workers" || role == "worker";
  if (!workers && role != "servers" && role != "server") {
    return BadRequest("\"" + role + "\" cannot be scaled; " + kUsage);
  }
  const std::string number = change.substr(equals + 1);
  int32_t count = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
  if (error != std::errc() || end != number.data() + number.size() || count < 0) {
    return BadRequest("\"" + number + "\" is no number of " + (workers ? "workers" : "servers") + "; " + kUsage);
  }
  std::optional<int32_t>& wanted = workers ? request.workers : request.servers;
  if (wanted) return BadRequest(std::string(workers ? "workers" : "servers") + " is given twice; " + kUsage);
  wanted = count;
  return OkStatus();
}

Status CheckBounds(const std::string& job, const char* role, const api::Role& bounds, int32_t wanted) {
  if (wanted >= bounds.min && wanted <= bounds.max) return OkStatus();
  return BadRequest(std::string(role) + "=" + std::to_string(wanted) + " is outside what job " + job + " allows, " +
                    std::to_string(bounds.min) + " to " + std::to_string(bounds.max) + " (spec." + role +
                    ".min and max); choose a number in between, or change the bounds");
}

Status CheckServers(const api::TrainingJob& job, int32_t wanted) {
  RETURN_IF_ERROR(CheckBounds(job.name, "servers", job.spec.servers, wanted));
  if (job.spec.backups > 0 && wanted < 2) {
    return BadRequest("job " + job.name +
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
  if (changes.empty()) return BadRequest(std::string("nothing to change; ") + kUsage);
  for (const std::string& change : changes) RETURN_IF_ERROR(ParseOne(change, request));
  return request;
}

Status CheckScale(const api::TrainingJob& job, const ScaleRequest& request) {
  RETURN_IF_ERROR(CheckNotEnded(job, "scale"));
  if (request.workers) RETURN_IF_ERROR(CheckBounds(job.name, "workers", job.spec.workers, *request.workers));
  if (request.servers) RETURN_IF_ERROR(CheckServers(job, *request.servers));
  for (const Size& size : kSizes) {
    if (const auto wanted = size.In(request)) RETURN_IF_ERROR(CheckSize(job, size, *wanted));
  }
  return OkStatus();
}

kube::Json ScalePatch(const ScaleRequest& request) {
  kube::Json spec = kube::Json::object();
  if (request.workers) spec["workers"]["replicas"] = *request.workers;
  if (request.servers) spec["servers"]["replicas"] = *request.servers;
  for (const Size& size : kSizes) {
    if (const auto wanted = size.In(request)) {
      spec[size.roles()]["resources"][size.resource()]["target"] = size.Text(*wanted);
    }
  }
  return {{"spec", std::move(spec)}};
}

std::vector<std::string> SizeChanges(const api::TrainingJob& job, const ScaleRequest& request) {
  std::vector<std::string> lines;
  for (const Size& size : kSizes) {
    const std::optional<int64_t> wanted = size.In(request);
    if (!wanted) continue;
    const controller::Amounts stated = controller::ShownOf(controller::StatedFigures(job, size.role));
    const std::optional<int64_t> target = size.Of(job).target;
    const std::optional<int64_t> before = target ? target : size.is_cpu ? stated.cpu : stated.memory;
    lines.push_back(job.name + ": " + controller::ToString(size.role) + " " + size.resource() + " " +
                    (before ? size.Text(*before) : "not stated") + " -> " + size.Text(*wanted));
  }
  return lines;
}

}  // namespace attune::cli
