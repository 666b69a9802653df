// The rung after a resize in place (docs/steering.md): a pod whose machine has no room for the size that was asked for,
// ever or for a minute, moves to one that has, where its successor is made with that size. Pure.
#pragma once

#include <chrono>
#include <string>

#include "operator/controller/actions/draft.h"
#include "operator/controller/members/move_planner.h"
#include "operator/controller/observe/observed.h"

namespace attune::controller {

inline constexpr Duration kRoomWait = std::chrono::minutes(1);

// Machines with room are worth a look (observe/machines.h).
bool AsksForRoom(const Observed& observed);

// Asks for the move of one such pod, as a user would, while the job trains with all of its pods. Not in mode
// InPlaceOnly, which forbids it, nor in Auto: there the tuner takes the kubelet's answer and asks for less.
void FollowResizes(const Observed& observed, const MoveFacts& facts, Now now, Draft& draft);

// One that has waited its time for room, while no other machine has any; null: there is none, or machines are not
// known.
const ObservedPod* PodWithoutRoom(const Observed& observed, Now now);
// "2 CPU, 4 GiB has no room on node-1".
std::string DescribeLackOfRoom(const ObservedPod& pod);

}  // namespace attune::controller
