// What the tuner's loop does about parts of the job: findings and what follows from them, and limits of CPU that the
// platform will not give.
#include <algorithm>

#include "operator/controller/observe/namespace_room.h"
#include "operator/controller/tuning/job_space.h"
#include "operator/controller/tuning/tuning_loop.h"

namespace attune::controller {

void TuningLoop::LookAtHealth(const TuningInput& input, TuningOutput& output) {
  health_.Look(input, output.events);
  std::string findings = health_.Save();
  if (findings == findings_) return;
  findings_ = std::move(findings);
  Remember();
}

void TuningLoop::StayFor(const TuningInput& input, const Refusal& refusal) {
  constexpr double kLongest = 600;  // a policy may be changed meanwhile
  stay_until_ = input.time + std::clamp(refusal.seconds, static_cast<double>(input.policy.window_seconds), kLongest);
  message_ = "keeping " + ToString(here_) + ": " + refusal.why;
}

// Neither kind of change may be made now: the tuner is not asked, and records nothing that does not happen.
bool TuningLoop::WaitsForPolicy(const TuningInput& input) {
  const auto why_no = [&](bool trial) {
    return WhyNotNow(input.rules, past_, {.trial = trial, .others_changing = input.room.others_changing}, input.time);
  };
  const auto trial = why_no(true), move = why_no(false);
  if (!trial || !move) return false;
  StayFor(input, trial->seconds < move->seconds ? *trial : *move);
  return true;
}

// The job stays where it is; a trial is left for the best setting known, which waits for nothing.
bool TuningLoop::HoldsBack(const TuningInput& input, const tuner::Decision& decision, const JobSetting& target,
                           TuningOutput& output) {
  constexpr size_t kPastMax = 256;
  const JobSetting best = FromSetting(tuner_->space(), tuner_->Incumbent());
  const auto belief = tuner_->BeliefAbout(decision.setting);
  const bool is_trial = decision.kind == tuner::DecisionKind::kTrial;
  const ProposedChange change{.trial = is_trial,
                              .back = trial_ && !is_trial && target == best,
                              .gain = belief ? std::optional(belief->gain) : std::nullopt,
                              .others_changing = input.room.others_changing,
                              .no_room = WhyNoRoom(input.room, here_, target)};
  const auto refusal = WhyNotNow(input.rules, past_, change, input.time);
  if (!refusal) {
    past_.push_back({input.time, change.trial, false});
    if (past_.size() > kPastMax) past_.erase(past_.begin());
    return false;
  }
  if (!change.no_room.empty()) room_.Met();
  StayFor(input, *refusal);
  if (!trial_ || best == here_) return true;
  trial_ = false;
  stay_seconds_ = static_cast<double>(input.policy.window_seconds);
  CloseWindow(input, true);
  Order(input, best, output);
  return true;
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
