#include "cli/display/job/job_json.h"

#include "cli/display/job/job_figures.h"
#include "cli/runs/jobs.h"

namespace attune::cli {
namespace {

const char* OutcomeName(JobView::Outcome outcome) {
  switch (outcome) {
    case JobView::Outcome::kNone:
      return "";
    case JobView::Outcome::kSucceeded:
      return "Succeeded";
    case JobView::Outcome::kFailed:
      return "Failed";
    case JobView::Outcome::kDeleted:
      return "Deleted";
  }
  return "";
}

// What the data plane does beside training, and what it has saved and lost.
void AddDataPlane(const JobView& view, kube::Json& object) {
  if (view.moving_bytes_left) {
    object["moving"] = {{"bytesLeft", *view.moving_bytes_left},
                        {"rowsPerSecond", view.moving_rows_per_second.value_or(0)}};
  }
  if (!view.checkpoint.empty()) {
    object["checkpoint"] = {{"directory", view.checkpoint},
                            {"number", view.checkpoint_number},
                            {"step", view.checkpoint_step},
                            {"time", view.checkpoint_time},
                            {"bytes", view.checkpoint_bytes}};
  }
  if (!view.best_checkpoint.empty()) object["bestCheckpoint"] = view.best_checkpoint;
  if (view.recoveries > 0) {
    object["recovery"] = {{"count", view.recoveries}, {"restoredRows", view.restored_rows}};
  }
}

kube::Json PodJson(const PodView& pod) {
  kube::Json entry = {{"name", pod.name}, {"role", pod.role}, {"state", pod.state}};
  if (pod.rate) entry["rate"] = *pod.rate;
  if (pod.rows) entry["rows"] = *pod.rows;
  if (pod.memory_bytes) entry["memoryBytes"] = *pod.memory_bytes;
  if (pod.cpu_cores) entry["cpuCores"] = *pod.cpu_cores;
  if (pod.cpu_limit) entry["cpuLimitCores"] = *pod.cpu_limit;
  if (pod.memory_limit) entry["memoryLimitBytes"] = *pod.memory_limit;
  if (pod.throttled) entry["throttled"] = *pod.throttled;
  return entry;
}

}  // namespace

std::string JsonLine(const kube::Json& value) {
  return value.dump(-1, ' ', false, kube::Json::error_handler_t::replace);
}

std::string RenderJson(const JobView& view, double now) { return JsonLine(JobJson(view, now)); }

kube::Json JobJson(const JobView& view, double now) {
  kube::Json object = {{"type", view.outcome == JobView::Outcome::kNone ? "progress" : "result"},
                       {"time", TimeText(now)},
                       {"job", view.name},
                       {"namespace", view.name_space},
                       {"phase", view.phase},
                       {"epoch", view.epoch},
                       {"epochs", view.epochs},
                       {"servers", {{"ready", view.servers_ready}, {"wanted", view.servers_wanted}}},
                       {"workers", {{"ready", view.workers_ready}, {"wanted", view.workers_wanted}}},
                       {"elapsedSeconds", Elapsed(view, now)}};
  if (view.fraction) object["fraction"] = *view.fraction;
  if (view.loss) object["loss"] = *view.loss;
  if (view.rate) object["rate"] = *view.rate;
  if (!view.sample_unit.empty()) object["sampleUnit"] = view.sample_unit;
  if (view.remaining_seconds) object["remainingSeconds"] = *view.remaining_seconds;
  for (const api::MetricStatus& metric : view.metrics) {
    if (metric.value) object["metrics"][metric.name] = *metric.value;
  }
  object["reprocessedItems"] = view.reprocessed_items;
  if (!view.synchronization.empty()) object["synchronization"] = view.synchronization;
  if (!view.slowest_worker.empty()) object["slowestWorker"] = view.slowest_worker;
  if (!view.trouble.empty()) object["trouble"] = view.trouble;
  AddDataPlane(view, object);
  if (!view.tuning_stage.empty()) {
    object["tuning"] = {{"stage", view.tuning_stage}, {"message", view.tuning}};
    if (view.remaining_low) object["tuning"]["remainingLowSeconds"] = *view.remaining_low;
    if (view.remaining_high) object["tuning"]["remainingHighSeconds"] = *view.remaining_high;
  }
  for (const PodView& pod : view.pods) object["pods"].push_back(PodJson(pod));
  if (view.outcome != JobView::Outcome::kNone) object["outcome"] = OutcomeName(view.outcome);
  if (!view.failure.empty()) object["failure"] = view.failure;
  if (view.result) {
    object["result"] = {
        {"metrics", view.result->metrics}, {"summary", view.result->summary}, {"modelPath", view.result->model_path}};
  }
  return object;
}

}  // namespace attune::cli
