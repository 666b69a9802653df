#include "ps/core/worker/step_gate.h"

#include <algorithm>

#include "base/check.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

bool StepGate::Update(const SyncState& state) {
  if (state.revision <= state_.revision) return false;
  const uint64_t floor = std::max(state.floor, state_.floor);
  state_ = state;
  state_.floor = floor;
  return true;
}

void StepGate::End() {
  ATTUNE_CHECK(in_step_);
  in_step_ = false;
  clock_ = CappedSum(clock_, 1);  // a coordinator may have lifted it to the largest number that a message can name
}

bool StepGate::TryBegin(Mistake regardless) {
  if (in_step_) return true;
  LiftTo(state_.floor);
  // Under Async clocks have drifted apart; the first bounded step is the same for all.
  if (!state_.mode_before.bounded() && state_.mode.bounded()) clock_ = std::max(clock_, state_.mode_from);
  if (state_.hold != 0 && clock_ >= state_.hold_at && !regardless) return false;
  if (state_.floor < ModeAt(clock_).FloorNeeded(clock_) && !regardless) return false;
  in_step_ = true;
  return true;
}

}  // namespace attune::ps
