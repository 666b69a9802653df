#include "operator/controller/members/machine_losses.h"

#include <algorithm>
#include <string>

#include "operator/controller/observe/timestamp.h"
#include "proto/pod_number.h"

namespace attune::controller {
namespace {

constexpr size_t kLossesMax = api::MachineLoss::kKept;

bool IsLost(const Observed& observed, const ObservedPod& pod) {
  const bool ours = IsServerOf(observed, pod) || IsWorkerOf(observed, pod);
  if (!ours || pod.node.empty()) return false;
  bool away = false, emptied = false;
  if (observed.nodes) {  // they may be read
    const auto node = observed.nodes->find(pod.node);
    away = node == observed.nodes->end() || !node->second.ready;
    emptied = !away && node->second.cordoned;
  }
  return !emptied && (pod.failure_number || (away && IsBeingDeleted(pod)));
}

}  // namespace

std::vector<api::MachineLoss> NextLosses(const Observed& observed, Now now) {
  std::vector<api::MachineLoss> losses = observed.job.status.machine_losses;
  std::erase_if(losses, [&](const api::MachineLoss& loss) {
    const auto time = ParseRfc3339(loss.time);
    return !time || now.wall - *time >= kLossRemembered;
  });
  for (const ObservedPod& pod : observed.pods) {
    if (!IsLost(observed, pod)) continue;
    const uint32_t number = contract::PodNumber(pod.uid);
    const bool known = std::ranges::any_of(losses, [&](const api::MachineLoss& loss) { return loss.pod == number; });
    if (!known) losses.push_back({.machine = pod.node, .pod = number, .time = ToRfc3339(now.wall)});
  }
  if (losses.size() > kLossesMax) losses.erase(losses.begin(), losses.end() - static_cast<std::ptrdiff_t>(kLossesMax));
  return losses;
}

void ReportAvoided(const std::vector<api::MachineLoss>& before, const std::vector<api::MachineLoss>& next,
                   const Draft::Needs& written, Draft& draft) {
  const std::vector<std::string> known = api::AvoidedMachines(before);
  for (const std::string& machine : api::AvoidedMachines(next)) {
    if (std::ranges::find(known, machine) != known.end()) continue;
    draft.Warn(kEventMachineAvoided, "Place",
               machine +
                   " has cost this job two pods within an hour; new ones are made elsewhere, where there is room, "
                   "until an hour after the first of them",
               written);
  }
}

}  // namespace attune::controller
