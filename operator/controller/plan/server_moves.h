// Servers that could stay and are to leave their machine: one that is to move (members/move.h), and those of a node
// that is cordoned, which happens before it is drained. One after the other is emptied by the others and made again on
// another node, so that nothing has to be evicted. Pure.
#pragma once

#include <string>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/plan/servers.h"

namespace attune::controller {

// For Events; "": nothing brings it away.
std::string WhyItMoves(const Observed& observed, const ObservedPod& pod);
inline bool MovesElsewhere(const Observed& observed, const ObservedPod& pod) {
  return !WhyItMoves(observed, pod).empty();
}

// Marks the next one, if all serve; true when one has been. The only server of a job is asked to move instead: its rows
// need one more server meanwhile, which the record of a move says.
bool BeginServerMove(const Observed& observed, const ServersView& servers, const v1::JobWindow& window, Now now,
                     Draft& draft);

}  // namespace attune::controller
