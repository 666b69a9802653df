#include "cli/display/job/job_json.h"
#include "cli/runs/jobs.h"
#include "cli/top/fleet.h"

namespace attune::cli {
namespace {

kube::Json UsageJson(const api::RoleUsage& usage) {
  kube::Json object = {{"cpuCores", usage.cpu_cores},
                       {"throttled", usage.throttled},
                       {"fullest", usage.fullest},
                       {"memoryBytes", usage.memory_bytes}};
  if (usage.cpu_limit_cores > 0) object["cpuLimitCores"] = usage.cpu_limit_cores;
  if (usage.memory_limit_bytes > 0) object["memoryLimitBytes"] = usage.memory_limit_bytes;
  return object;
}

kube::Json DecisionJson(const api::TuningDecision& decision) {
  kube::Json object = {{"number", decision.number},
                       {"time", decision.time},
                       {"kind", decision.kind},
                       {"from", decision.from},
                       {"to", decision.to},
                       {"why", decision.why},
                       {"expected", decision.expected},
                       {"measured", decision.measured},
                       {"outcome", decision.outcome}};
  if (decision.expected_speedup) object["expectedSpeedup"] = *decision.expected_speedup;
  if (decision.measured_speedup) object["measuredSpeedup"] = *decision.measured_speedup;
  if (decision.cost_seconds) object["costSeconds"] = *decision.cost_seconds;
  return object;
}

}  // namespace

kube::Json TopJson(const JobView& view, double now) {
  kube::Json object = JobJson(view, now);
  if (view.server_usage) object["servers"]["usage"] = UsageJson(*view.server_usage);
  if (view.worker_usage) object["workers"]["usage"] = UsageJson(*view.worker_usage);
  for (const api::TuningDecision& decision : view.decisions)
    object["tuning"]["decisions"].push_back(DecisionJson(decision));
  if (!view.move.empty()) object["move"] = {{"moving", view.moving}, {"message", view.move}};
  for (const std::string& error : view.errors) object["errors"].push_back(error);
  return object;
}

kube::Json FleetJson(const Fleet& fleet, double now) {
  kube::Json object = {{"type", "jobs"}, {"time", TimeText(now)}, {"jobs", kube::Json::array()}};
  for (const JobView& view : fleet.jobs) object["jobs"].push_back(TopJson(view, now));
  if (!fleet.problem.empty()) object["problem"] = fleet.problem;
  return object;
}

}  // namespace attune::cli
