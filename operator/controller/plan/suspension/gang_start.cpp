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

int64_t PodsWithMachine(const Observed& observed) {
  return std::ranges::count_if(observed.pods, [&](const ObservedPod& pod) {
    return (IsServerOf(observed, pod) || IsWorkerOf(observed, pod)) && pod.scheduled && !IsBeingDeleted(pod);
  });
}

}  // namespace

GangView LookAtGang(const Observed& observed, Now now) {
  const api::TrainingJobSpec& spec = observed.job.spec;
  const auto& timeout = spec.start_policy.gang_timeout_seconds;
  // Once all were there at the same time the attempt is a running one, whatever leaves or joins it.
  if (!timeout || api::FindCondition(observed.job.status, kTrainingStarted) != nullptr) return {};
  const int64_t wanted = int64_t{spec.servers.replicas} + spec.workers.replicas, placed = PodsWithMachine(observed);
  const auto began = BeganAt(observed.job.status);
  if (placed >= wanted || !began) return {};
  const Duration limit = std::chrono::seconds(*timeout);
  // A clock that has been set back restarts the time, rather than ending it.
  const Duration waited = std::max<Duration>(now.wall - *began, Duration::zero());
  if (waited < limit) return {.shortage = {}, .again = limit - waited};
  return {.shortage = std::to_string(placed) + " of " + Counted(wanted, "pod") + " had a machine after " +
                      std::to_string(*timeout) + " s (spec.startPolicy.gangTimeoutSeconds)",
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
