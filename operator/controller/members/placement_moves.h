// Which pod of a running job is to go to which machine, so that spec.placement comes true (api/placement.h): one at a
// time, through a request to move as a user makes it (move.h). Every move brings the job nearer to what is asked for,
// by a count that only falls; so moves end, and none is taken back by the next. Pure.
#pragma once

#include <optional>
#include <string>

#include "operator/controller/actions/draft.h"
#include "operator/controller/members/move_planner.h"
#include "operator/controller/observe/observed.h"

namespace attune::controller {

struct PlacementMove {
  const ObservedPod* pod = nullptr;
  std::string to;   // a machine with room for it, as far as this operator sees
  std::string why;  // names the field, and what is amiss
};

// The next one; nothing where all pods are as they are to be, or where nothing better has room. The rules of the spec,
// or these.
std::optional<PlacementMove> NextPlacementMove(const Observed& observed, const api::Placement& placement,
                                               const MoveFacts& facts);

// Machines with room are worth a look (observe/machines.h): the spec asks for more than where the scheduler puts pods.
bool AsksForPlacement(const api::Placement& placement);

// Asks for the next one while the job trains with all of its pods. One that was refused or given up is followed by a
// pause: what was in its way may last.
void FollowPlacement(const Observed& observed, const MoveFacts& facts, Now now, Draft& draft);

}  // namespace attune::controller
