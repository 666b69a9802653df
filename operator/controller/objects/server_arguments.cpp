#include "operator/controller/objects/server_arguments.h"

#include <algorithm>
#include <string>

#include "operator/controller/observe/attempts.h"
#include "proto/contract.h"

namespace attune::controller {

using api::TrainingJob;
using kube::Json;

Json ServerArguments(const TrainingJob& job, int32_t index, int32_t servers) {
  Json arguments = Json::array({"--servers", std::to_string(servers)});
  const api::Checkpoint& checkpoint = job.spec.checkpoint;
  const std::string& host = job.status.coordinator;
  const bool coordinator_here = host.empty() ? index == 0 : host == PodName(job.name, RoleName::kServer, index);
  const auto add = [&](const char* flag, const auto& value) {
    arguments.push_back(flag);
    arguments.push_back(value);
  };
  if (!checkpoint.directory.empty()) add("--checkpoints", checkpoint.directory);
  add("--checkpoints-retained", std::to_string(checkpoint.keep));  // any server may run the coordinator later
  if (!coordinator_here) return arguments;
  arguments.push_back("--coordinator-here");  // which is the one that knows goal and data
  const auto& suspension = job.status.suspension;
  if (suspension && !suspension->directory.empty()) {
    add("--load", suspension->directory);
    add("--load-checkpoint", std::to_string(suspension->checkpoint));
  } else if (!checkpoint.resume_from.empty()) {
    add("--load", checkpoint.resume_from);
    if (checkpoint.resume_at == api::ResumeAt::kBest) arguments.push_back("--load-best");
  }
  if (AttemptOf(job.status) > 0) add("--term", std::to_string(std::max<int64_t>(job.status.coordinator_term, 1)));
  if (!checkpoint.best.metric.empty()) {
    add("--best-checkpoint", checkpoint.best.metric);
    if (checkpoint.best.direction == api::Direction::kMaximize) arguments.push_back("--best-maximize");
  }
  const api::Goal& goal = job.spec.goal;
  if (goal.epochs) add("--epochs", std::to_string(*goal.epochs));
  if (goal.steps) add("--steps", std::to_string(*goal.steps));
  if (goal.target_loss) add("--target-loss", Json(*goal.target_loss).dump());  // shortest text that reads back the same
  if (goal.max_duration_seconds) add("--max-duration", std::to_string(*goal.max_duration_seconds));
  if (const api::TargetMetric& target = goal.target_metric; !target.name.empty()) {
    add("--target-metric", target.name);
    add("--target-value", Json(target.value.value_or(0)).dump());
    if (target.direction == api::Direction::kMaximize) arguments.push_back("--target-maximize");
  }
  if (const api::EarlyStopping& stopping = goal.early_stopping; !stopping.metric.empty()) {
    add("--early-stopping", stopping.metric);
    add("--early-stopping-patience", std::to_string(stopping.patience.value_or(1)));
    if (stopping.min_delta > 0) add("--early-stopping-min-delta", Json(stopping.min_delta).dump());
    if (stopping.direction == api::Direction::kMaximize) arguments.push_back("--early-stopping-maximize");
  }
  if (goal.evaluate_every.epochs) add("--evaluate-every-epochs", std::to_string(*goal.evaluate_every.epochs));
  if (goal.evaluate_every.steps) add("--evaluate-every-steps", std::to_string(*goal.evaluate_every.steps));
  if (job.spec.data.items > 0) add("--items", std::to_string(job.spec.data.items));
  const SyncMode pace = api::FromManifest(job.spec.synchronization);
  if (pace.bounded()) add("--synchronization", ToString(pace));
  if (job.spec.row_management != RowManagement::kAdaptive) add("--row-management", ToString(job.spec.row_management));
  if (job.spec.backups > 0) add("--backups", std::to_string(job.spec.backups));
  if (job.spec.data.lease_items > 0) add("--lease-items", std::to_string(job.spec.data.lease_items));
  return arguments;
}

}  // namespace attune::controller
