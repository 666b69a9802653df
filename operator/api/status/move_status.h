// A pod that is to work on another machine: the request, an annotation of the job, and the record in its status.
#pragma once

#include <string>

namespace attune::api {

// "worker-1 to=node-2 id=7 why=its machine is crowded" asks for another machine for this pod; a new value is a new
// request, none withdraws the last one (operator/controller/members/move.h).
inline constexpr char kAnnotationMove[] = "attune.dev/move";

// A pod that is replaced by another one on another machine while it works (docs/decisions/0049), or the last one that
// was. In the status before anything happens, so that every operator that follows continues or undoes it.
struct MoveStatus {
  std::string request;       // the last value of the annotation attune.dev/move that was taken up or answered
  std::string pod, pod_uid;  // that moves, or moved
  std::string from, to;      // machines: where it runs; the one preferred, "": any other; of a move that is done, where
  std::string why;           // it is asked for; "": nothing was said
  std::string state;         // kMoving, kMoved, kMoveRefused, kMoveGivenUp
  std::string since, ended;  // RFC 3339
  std::string message;       // what came of it, or why not
};
inline constexpr char kMoving[] = "Moving";
inline constexpr char kMoved[] = "Moved";
inline constexpr char kMoveRefused[] = "Refused";
inline constexpr char kMoveGivenUp[] = "GivenUp";

}  // namespace attune::api
