// A pod that is to work on another machine: whether that can be, how far it has come, and when it is given up. The
// record in the status is all that is remembered (api::MoveStatus); pods say the rest, so that an operator that takes
// over in the middle continues. The steps themselves are those of joining and leaving (docs/decisions/0049):
//
//   a worker   another one is made, away from the machine; once that one trains this one is asked to leave
//   a server   its rows move to the other servers, for the only one to one more that is made for it; its pod goes, and
//              is made again elsewhere
//
// A move that does not come about in its time is given up: what was begun is undone, and the job is as it was.
#pragma once

#include <optional>
#include <set>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"

namespace attune::controller {

// What other policies know.
struct MoveFacts {
  bool begun = false;         // the job trains
  bool ends = false;          // its goal is reached
  bool elastic = false;       // its servers can join and leave
  int32_t servers = 0;        // that it is to have, without one more for a move
  std::set<int32_t> serving;  // indices of those that hold rows, by the coordinator's word
};

// The record that the status is to have. Asks only for a later look.
std::optional<api::MoveStatus> NextMove(const Observed& observed, const MoveFacts& facts, const PlanOptions& options,
                                        Now now, Draft& draft);

// Events that go with a change of the record, so that each is sent once.
void ReportMove(const std::optional<api::MoveStatus>& before, const std::optional<api::MoveStatus>& next,
                const Draft::Needs& written, Draft& draft);

}  // namespace attune::controller
