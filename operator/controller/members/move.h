// What is known of a pod that moves to another machine: the request, the record in the status, and the worker that
// stands in. Asked by the policies of servers and workers; what becomes of a move is move_planner.h. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"

namespace attune::controller {

// Of the annotation attune.dev/move: "worker-1 to=node-2 id=7 why=its machine is crowded".
struct MoveRequest {
  std::string pod;  // with or without the job's name before it
  std::string to;   // a machine; "": any other
  std::string why;  // the rest of the line; "": nothing is said
};
// nullopt: no pod is named, or a word is none of these. "id=" makes one request differ from another, and is not read.
std::optional<MoveRequest> ParseMoveRequest(std::string_view text);
std::string ToText(const MoveRequest& request, const std::string& id);

// Asks for a move as a user would, through the annotation: for policies that find a reason. Nothing while a move is
// in progress, or while the last request has not been taken up yet: one change at a time.
std::optional<Draft::Ref> RequestMove(const Observed& observed, const ObservedPod& pod, const std::string& to,
                                      const std::string& why, Now now, Draft& draft);

// A move is in progress, and it is this pod that leaves its machine.
bool IsBeingMoved(const Observed& observed, const ObservedPod& pod);
// The record of a move that is in progress; null: none is.
const api::MoveStatus* CurrentMove(const Observed& observed);
// The only server of a job moves, and its rows need another place meanwhile: the job has a server more than the spec
// says until the move is done or given up.
bool NeedsOneMoreServer(const Observed& observed);
// All pods that the spec asks for are there and none is on its way out: otherwise something changes already, and where
// pods will be is not known.
bool HasAllPods(const Observed& observed);
// The last move, asked for with this reason or one that begins so, was refused or given up not long ago: what was in
// its way may last.
bool IsTooSoonAgain(const Observed& observed, std::string_view why, Now now);
inline constexpr Duration kMoveRetry = std::chrono::minutes(10);
// The worker that was made to take the place of this one; null: there is none.
const ObservedPod* StandInFor(const Observed& observed, const std::string& uid);
// What the process of this very pod reported last; null: nothing.
const telemetry::PodSample* ReportOf(const Observed& observed, const ObservedPod& pod);
// Its program has finished a step in this job, says its sidecar, whose stream is open.
bool HasBegunToTrain(const Observed& observed, const ObservedPod& worker);
// This worker moves, and another one has begun to train on another machine: it may go.
bool MayGo(const Observed& observed, const ObservedPod& worker);

}  // namespace attune::controller
