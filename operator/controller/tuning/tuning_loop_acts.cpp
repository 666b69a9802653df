// What the tuner's loop does about parts of the job: findings and what follows from them, and limits of CPU that the
// platform will not give.
#include <algorithm>

#include "operator/controller/tuning/tuning_loop.h"

namespace attune::controller {

void TuningLoop::LookAtHealth(const TuningInput& input, TuningOutput& output) {
  health_.Look(input, output.events);
  std::string findings = health_.Save();
  if (findings == findings_) return;
  findings_ = std::move(findings);
  Remember();
}

// After the setting: a change of the spec that is on its way there is known from a user's by the spec's generation.
void TuningLoop::ActOnFindings(const TuningInput& input, TuningOutput& output) {
  const bool may_act = !output.change && (stage_ != Stage::kMoving || input.wanted == here_);
  acts_.Look(input, health_.findings(), may_act, output);
  std::string acts = acts_.Save();
  if (acts == saved_acts_) return;
  saved_acts_ = std::move(acts);
  Remember();
}

// A size that never fits is not waited for, and neither it nor a larger one is tried again.
bool TuningLoop::IsInfeasible(const TuningInput& input, TuningOutput& output) {
  if (!input.infeasible || input.wanted != here_ || from_ == here_) return false;
  constexpr double kLevel = 1.25;  // of the knob, one below
  const InfeasibleCpu& size = *input.infeasible;
  const bool of_workers = size.role == RoleName::kWorker;
  const auto cpu = of_workers ? &JobSetting::worker_millicores : &JobSetting::server_millicores;
  const int32_t before = (from_.*cpu).value_or(0);
  if (before >= size.millicores) return false;  // it is not this change that does not fit
  const int32_t highest = std::max(before, static_cast<int32_t>(size.millicores / kLevel));
  next_ceiling_.*cpu = std::min((next_ceiling_.*cpu).value_or(highest), highest);
  Crashed(input, here_,
          "the platform says that " + std::to_string(size.millicores) + "m of cpu never fit (" + size.text +
              "); from now on " + std::string(ToString(size.role)) + "s get " + std::to_string(highest) + "m" +
              " at most",
          output);
  return true;
}

}  // namespace attune::controller
