// What holds the tuner's loop back: what policies allow, and limits of CPU that the platform will not give.
#include <algorithm>

#include "operator/controller/observe/namespace_room.h"
#include "operator/controller/tuning/job_space.h"
#include "operator/controller/tuning/tuning_loop.h"

namespace attune::controller {

void TuningLoop::StayFor(const TuningInput& input, const Refusal& refusal) {
  constexpr double kLongest = 600;  // a policy may be changed meanwhile
  stay_.Extend(input.time, std::clamp(refusal.seconds, static_cast<double>(input.policy.window_seconds), kLongest));
  ++policy_refusals_;
  shown_.Say("keeping " + ToString(course_.here()) + ": " + refusal.why);
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
                              .back = course_.is_trial() && !is_trial && target == best,
                              .gain = belief ? std::optional(belief->gain) : std::nullopt,
                              .others_changing = input.room.others_changing,
                              .no_room = WhyNoRoom(input.room, course_.here(), target)};
  const auto refusal = WhyNotNow(input.rules, past_, change, input.time);
  if (!refusal) {
    past_.push_back({input.time, change.trial, false});
    if (past_.size() > kPastMax) past_.erase(past_.begin());
    return false;
  }
  if (!change.no_room.empty()) knobs_.MeetEdge();
  StayFor(input, *refusal);
  if (!course_.is_trial() || best == course_.here()) return true;
  stay_.Plan(static_cast<double>(input.policy.window_seconds));
  Order(input, best, false, output);
  return true;
}

// A size that never fits is not waited for, and neither it nor a larger one is tried again.
bool TuningLoop::IsInfeasible(const TuningInput& input, TuningOutput& output) {
  if (!input.infeasible || input.wanted != course_.here() || !course_.HasWayBack()) return false;
  const auto why = knobs_.Lower(*input.infeasible, course_.from());
  if (!why) return false;  // it is not this change that does not fit
  Crashed(input, *why, output);
  return true;
}

}  // namespace attune::controller
