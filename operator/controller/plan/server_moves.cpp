#include "operator/controller/plan/server_moves.h"

#include "operator/controller/members/move.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/directives.h"
#include "operator/controller/plan/evidence.h"

namespace attune::controller {
namespace {

void MoveTheOnlyOne(const Observed& observed, const ObservedPod& pod, Now now, Draft& draft) {
  if (!IsAlive(pod) || !IsOnCordonedNode(observed, pod)) return;
  const std::string why = WhyItMoves(observed, pod);
  if (IsTooSoonAgain(observed, why, now)) return draft.Requeue(kMoveRetry, why);
  RequestMove(observed, pod, "", why, now, draft);
}

}  // namespace

std::string WhyItMoves(const Observed& observed, const ObservedPod& pod) {
  if (IsOnCordonedNode(observed, pod)) return "node " + pod.node + " is cordoned";
  return IsBeingMoved(observed, pod) ? "it is to leave node " + pod.node : "";
}

bool BeginServerMove(const Observed& observed, const ServersView& servers, const v1::JobWindow& window, Now now,
                     Draft& draft) {
  for (int32_t index = 0; index < servers.count; ++index) {
    const bool is_there = servers.by_index[static_cast<size_t>(index)] != nullptr;
    if (!is_there || StateOf(window, index) != v1::ServerState::SERVING) return false;
  }
  if (servers.count == 1) {
    MoveTheOnlyOne(observed, *servers.by_index.front(), now, draft);
    return false;
  }
  for (const ObservedPod* pod : servers.by_index) {
    if (!IsAlive(*pod) || !MovesElsewhere(observed, *pod)) continue;
    const Draft::Ref mark = draft.Mark(*pod, {{kAnnotationDraining, ToRfc3339(now.wall)}}, WhyItMoves(observed, *pod));
    const std::string why =
        IsOnCordonedNode(observed, *pod) ? "Node " + pod->node + " is cordoned" : pod->name + " is to move";
    draft.Normal(kEventServersDraining, "MoveServer",
                 why + ": the rows of " + pod->name +
                     " move to the other servers while training continues, and a new server follows elsewhere",
                 {mark});
    return true;
  }
  return false;
}

}  // namespace attune::controller
