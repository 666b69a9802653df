// When an evaluation on the way is due: each time that the job has passed another multiple of so many epochs or steps.
// One at a time: while one is in progress no other becomes due, and what was passed meanwhile is left out, so that no
// model is evaluated twice. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "ps/core/protocol/progress_state.h"

namespace attune::ps {

class EvaluationSchedule {
 public:
  EvaluationSchedule(std::optional<uint64_t> every_epochs, std::optional<uint64_t> every_steps)
      : every_epochs_(every_epochs), every_steps_(every_steps) {}
  void Restore(const EvaluationState& state) { state_ = state; }
  // A resumed job: `done` evaluations lie behind it, and where it stands is not evaluated once more.
  void Resume(uint64_t done, uint64_t epochs, uint64_t steps) {
    if (state_.due < done) state_ = {.due = done, .at_epochs = epochs, .at_steps = steps};
  }

  bool any() const { return every_epochs_ || every_steps_; }
  // True when one more is due now, which then counts. `done`: all those before are.
  bool Advance(uint64_t epochs, uint64_t steps, bool done) {
    const bool passed = Passed(every_epochs_, state_.at_epochs, epochs) || Passed(every_steps_, state_.at_steps, steps);
    if (!passed || !done) return false;
    state_ = {.due = state_.due + 1, .at_epochs = epochs, .at_steps = steps};
    return true;
  }
  const EvaluationState& state() const { return state_; }

 private:
  static bool Passed(std::optional<uint64_t> every, uint64_t before, uint64_t now) {
    return every && *every > 0 && now / *every > before / *every;
  }

  std::optional<uint64_t> every_epochs_, every_steps_;
  EvaluationState state_;
};

}  // namespace attune::ps
