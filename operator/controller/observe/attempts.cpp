#include "operator/controller/observe/attempts.h"

#include <algorithm>
#include <utility>

#include "operator/controller/observe/timestamp.h"

namespace attune::controller {
namespace {

bool IsReportOfPresentPod(const Observed& observed, const telemetry::PodSample& sample) {
  return std::ranges::any_of(observed.pods, [&](const ObservedPod& pod) {
    return pod.name == sample.pod && pod.job_uid == observed.job.uid &&
           (sample.pod_uid.empty() || sample.pod_uid == pod.uid);
  });
}

}  // namespace

int64_t AttemptOf(const api::TrainingJobStatus& status) { return status.suspension ? status.suspension->attempt : 0; }

void SetOtherAttemptsApart(Observed& observed, Now now) {
  const int64_t attempt = AttemptOf(observed.job.status);
  const auto is_of_job = [&](const ObservedPod& pod) { return pod.job_uid == observed.job.uid; };
  std::erase_if(observed.pods, [&](const ObservedPod& pod) { return is_of_job(pod) && pod.attempt > attempt; });
  if (attempt == 0) return;
  for (ObservedPod& pod : observed.pods) {
    if (!is_of_job(pod) || pod.attempt == attempt) continue;
    observed.earlier_pods.insert(pod.uid);
    pod.job_uid.clear();
  }
  telemetry::JobSample& sample = observed.sample;
  std::erase_if(sample.pods, [&](const telemetry::PodSample& each) { return !IsReportOfPresentPod(observed, each); });
  const auto term = static_cast<uint64_t>(std::max<int64_t>(observed.job.status.coordinator_term, 0));
  if (sample.job && sample.job->term() < term) sample.job.reset();
  const auto began = ParseRfc3339(observed.job.status.suspension->since);
  if (sample.progressed_at && began) {
    const Duration age = std::max<Duration>(now.wall - *began, Duration::zero());
    sample.progressed_at = std::max(*sample.progressed_at, now.monotonic - age);
  }
}

}  // namespace attune::controller
