#include "operator/controller/plan/suspension/gang_start.h"

#include <algorithm>

#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/servers.h"
#include "proto/pod_number.h"

namespace attune::controller {
namespace {

constexpr Duration kPauseMax = std::chrono::minutes(15);
constexpr int32_t kDoublingsMax = 16;

// When the present attempt began.
std::optional<WallTime> BeganAt(const api::TrainingJobStatus& status) {
  const bool is_first = !status.suspension || status.suspension->resumed.empty();
  return ParseRfc3339(is_first ? status.start_time : status.suspension->resumed);
}

int64_t PodsWanted(const api::TrainingJobSpec& spec) { return int64_t{spec.servers.replicas} + spec.workers.replicas; }

int64_t PodsWithMachine(const Observed& observed) {
  return std::ranges::count_if(observed.pods, [&](const ObservedPod& pod) {
    return (IsServerOf(observed, pod) || IsWorkerOf(observed, pod)) && pod.scheduled && !IsBeingDeleted(pod);
  });
}

}  // namespace

std::optional<bool> ArePodsPlaced(const Observed& observed) {
  const api::TrainingJob& job = observed.job;
  if (!job.spec.start_policy.gang_timeout_seconds) return std::nullopt;
  const bool has_begun = api::FindCondition(job.status, kTrainingStarted) != nullptr;
  return has_begun || api::IsTrue(job.status, kAllPlaced) || PodsWithMachine(observed) >= PodsWanted(job.spec);
}

GangView LookAtGang(const Observed& observed, Now now) {
  const std::optional<bool> placed = ArePodsPlaced(observed);
  const auto began = BeganAt(observed.job.status);
  if (!placed || *placed || !began) return {};
  const int64_t timeout = *observed.job.spec.start_policy.gang_timeout_seconds;
  const Duration limit = std::chrono::seconds(timeout);
  // A clock that has been set back restarts the time, rather than ending it.
  const Duration waited = std::max<Duration>(now.wall - *began, Duration::zero());
  if (waited < limit) return {.shortage = {}, .again = limit - waited};
  return {.shortage = std::to_string(PodsWithMachine(observed)) + " of " +
                      Counted(PodsWanted(observed.job.spec), "pod") + " had a machine after " +
                      std::to_string(timeout) + " s (spec.startPolicy.gangTimeoutSeconds)",
          .again = {}};
}

Duration GangPause(const api::TrainingJob& job, int32_t tries) {
  const Duration first = std::chrono::seconds(job.spec.start_policy.gang_timeout_seconds.value_or(60));
  Duration pause = std::min(first, kPauseMax);
  for (int32_t i = 1; i < std::min(tries, kDoublingsMax); ++i) pause = std::min(2 * pause, kPauseMax);
  constexpr int kParts = 1024;
  return pause + pause / 3 / kParts * (contract::PodNumber(job.uid) % kParts);
}

}  // namespace attune::controller
