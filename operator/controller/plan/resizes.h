// Policy of figures: running pods are brought to what the spec asks for without a restart (spec.workers.resources,
// spec.servers.resources; docs/steering.md). All pods of a role may be asked in one plan. What was begun is on the pod
// before the API server is asked (pod_resize.h), and what a kubelet says is read back from the pod, so that an operator
// that takes over continues, and reports nothing twice. A size that waits for room, or never fits, stands in the pod's
// spec already and is not asked for again.
//
// Left alone: jobs that end, pods that do not run or are on their way out, and memory below what a process uses.
#pragma once

#include <map>
#include <string>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"
#include "operator/controller/plan/servers.h"
#include "operator/controller/plan/workers.h"

namespace attune::controller {

// What became of the figures, for the status.
struct ResizesView {
  bool under_way = false;
  std::string reason;  // names.h; "" when all pods are as the spec asks
  std::string message;
};

// What keeps all pods of the job from being resized: the cluster cannot, or does not let this operator do it. It is
// tried on one pod from time to time. Null: nothing is known to.
const BlockedAct* BlockedForAllPods(const Observed& observed);

ResizesView PlanResizes(const Observed& observed, const ServersView& servers, const WorkersView& workers,
                        const PlanOptions& options, Now now, Draft& draft);

// The role of a container that ran out of memory, or is about to (MemoryAlarm), gets half as much again within its
// bound: the target of the spec first, and pods follow it. A dead pod is kept until the spec has it, for kHoldMax at
// most: no other object has its limit. Comes before the policies that remove pods.
void PlanMemoryRaise(const Observed& observed, Now now, Draft& draft);
inline constexpr Duration kHoldMax = std::chrono::seconds(30);

// Observed::memory_needs from what was known of them before and the pods that are seen now.
std::map<RoleName, int64_t> MemoryNeeds(const Observed& observed, const std::map<RoleName, int64_t>& before);

}  // namespace attune::controller
