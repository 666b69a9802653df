#include "operator/controller/status/status_write.h"

#include <algorithm>

#include "operator/controller/status/status.h"

namespace attune::controller {
namespace {

using api::TrainingJobStatus;

// The status without what moves all the time.
kube::Json Facts(TrainingJobStatus status) {
  const bool shown = status.progress.has_value();
  status.progress.reset();
  status.metrics.clear();
  status.servers.usage.reset();
  status.workers.usage.reset();
  status.rows.reset();
  kube::Json facts = api::ToJson(status);
  facts["progress shown"] = shown;
  return facts;
}

// The same without how many pods there are just now, and the sentences that count them.
kube::Json FactsBesideCounts(TrainingJobStatus status) {
  status.servers = {0, 0, status.servers.failed};
  status.workers = {0, 0, status.workers.failed};
  for (const char* type : {api::kReady, api::kServersReady, api::kWorkersReady}) {
    const auto counting = std::ranges::find(status.conditions, type, &api::Condition::type);
    if (counting != status.conditions.end() && counting->status != "True") counting->message.clear();
  }
  return Facts(std::move(status));
}

}  // namespace

Draft::Needs PlanStatus(const Observed& observed, TrainingJobStatus next, const PlanOptions& options, Now now,
                        Draft& draft) {
  const Duration since =
      observed.status_written_at ? now.monotonic - *observed.status_written_at : options.status_interval;
  if (Facts(next) != Facts(observed.job.status)) {
    const bool counts_alone = FactsBesideCounts(next) == FactsBesideCounts(observed.job.status);
    if (!counts_alone || since >= options.counts_interval) return {draft.Status(std::move(next), "facts changed")};
    draft.Requeue(options.counts_interval - since, "pods that come");
    return {};
  }
  if (!HasEnded(next) && next.phase == "Running" && api::IsTrue(next, api::kMetricsAvailable)) {
    draft.Requeue(options.status_interval, "progress");
  }
  if (api::ToJson(next) == api::ToJson(observed.job.status)) return {};
  if (since >= options.status_interval) return {draft.Status(std::move(next), "progress")};
  draft.Requeue(options.status_interval - since, "progress");
  return {};
}

}  // namespace attune::controller
