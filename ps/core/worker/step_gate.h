// Which step a worker is in, and whether the next one may begin: the worker's side of ps/core/progress/clock_board.h.
// Pure; externally synchronized.
#pragma once

#include <cstdint>

#include "ps/core/mutations.h"
#include "ps/core/protocol/sync_state.h"

namespace attune::ps {

class StepGate {
 public:
  // False when it is older than what is known.
  bool Update(const SyncState& state);
  // The step in progress has ended. Requires in_step().
  void End();
  // Begins the next step if that is allowed now. `regardless`: although slower workers are too far behind.
  bool TryBegin(Mistake regardless = {});
  // A joining member stands at the floor and is in that step, unless all are held before it: then it waits like
  // everybody else.
  void Join(const SyncState& state) {
    (void)Update(state);
    LiftTo(state.floor);
    in_step_ = state_.hold == 0 || clock_ < state_.hold_at;
  }
  // A worker that gets work stands at the floor.
  void LiftTo(uint64_t floor) { clock_ = clock_ > floor ? clock_ : floor; }

  bool in_step() const { return in_step_; }
  uint64_t clock() const {
    return clock_;
  }  // of the step in progress, or of the one to begin: steps before it have ended
  // The last step that was begun, and the hold this worker may promise to keep; 0 when it has begun a step beyond it.
  uint64_t begun() const { return in_step_ ? clock_ : (clock_ == 0 ? 0 : clock_ - 1); }
  uint64_t promise() const { return state_.hold != 0 && begun() < state_.hold_at ? state_.hold : 0; }
  // Finished steps are to be reported at once, because others may wait for them.
  bool report_at_once() const { return state_.hold != 0 || ModeAt(clock_).bounded() || state_.mode.bounded(); }
  const SyncState& state() const { return state_; }
  SyncMode ModeAt(uint64_t step) const { return step >= state_.mode_from ? state_.mode : state_.mode_before; }

 private:
  SyncState state_;
  uint64_t clock_ = 0;
  bool in_step_ = true;
};

}  // namespace attune::ps
