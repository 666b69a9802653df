#include "operator/controller/tuning/tuning_loop.h"

#include <algorithm>

#include "operator/api/format.h"
#include "operator/controller/observe/names.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/tuning/job_space.h"

namespace attune::controller {
namespace {

// Until new pods take part: a job starts with servers, then workers, so about half of what that took; within bounds,
// because the tuner may have been asked later.
constexpr double kChangeSecondsMin = 1, kChangeSecondsMax = 10;

}  // namespace

TuningOutput TuningLoop::Step(const TuningInput& given, tuner::PriorCache& priors) {
  TuningInput input = given;
  Restore(priors);
  knobs_.Narrow(input, course_.here().threads);
  input.time = clock_.Advance(given.time, given.age);
  TuningOutput output;
  output.look_again = static_cast<double>(input.policy.window_seconds);
  if (parts_.Look(input, output)) Remember();
  if (!input.training) {
    window_.Drop();
    if (shown_.message().empty()) shown_.Say("waiting for the first reports of a job that trains");
  } else if (!input.policy.paused) {
    const bool tried = knobs_.AreTried();
    if (knobs_.Look(input) && (tuner_ || stage_ == Stage::kDone)) {  // another policy: what was measured is kept
      Retire(tried, output);
      stage_ = Stage::kLearning;
    }
    // What Initial has found is where another mode continues from.
    if (stage_ == Stage::kDone && tuner_ && input.policy.mode != api::TuningMode::kInitial) stage_ = Stage::kLearning;
    if (stage_ == Stage::kDone) {
      window_.Drop();
    } else if (!tuner_ || stage_ == Stage::kLearning) {
      Learn(input, priors);
    } else if (course_.is_moving()) {
      Move(input, output);
    } else {
      Stay(input, output);
    }
  } else {
    window_.Drop();
  }
  // After the setting: a change of the spec that is on its way there is known from a user's by the spec's generation.
  if (parts_.Act(input, !output.change && (!IsMoving() || input.wanted == course_.here()), output)) Remember();
  FillStatus(input, output);
  output.changing = IsMoving();
  return output;
}

// Another tuner follows, with other knobs: what this one measured and what it did are kept. `tried`: it did more than
// recommend.
void TuningLoop::Retire(bool tried, TuningOutput& output) {
  if (!tuner_) return;
  earlier_.Add(*tuner_, tried, output.events);
  tuner_.reset();
}

bool TuningLoop::Begin(const TuningInput& input, tuner::PriorCache& priors) {
  const auto window = static_cast<double>(input.policy.window_seconds);
  if (!first_ || input.steps < first_->steps) first_ = input;
  shown_.Say("finding out how fast the job is now");
  if (input.time - first_->time < window || input.steps == first_->steps) return false;
  const auto ending = EndingOf(input);
  if (!ending) return false;
  const auto goal = GoalOf(input, *ending);
  if (!goal) return false;
  const double per_second = static_cast<double>(input.steps - first_->steps) / (input.time - first_->time);
  const double left = std::min(ending->steps / per_second, ending->seconds);
  if (left < kShortJobWindows * window) {
    stage_ = Stage::kDone;
    shown_.Say("the job ends in about " + api::FormatSeconds(left) + ", too short to try other settings (" +
               std::to_string(static_cast<int>(kShortJobWindows)) + " windows of " +
               std::to_string(input.policy.window_seconds) + " s at least)");
    return false;
  }
  tuner::JobDescription job;
  job.space = knobs_.Space(input);
  job.goal = *goal;
  job.objective = ObjectiveOf(input, earlier_.spent());
  job.costs.pods = std::clamp(first_->time / 2, kChangeSecondsMin, kChangeSecondsMax);
  job.window_seconds = window;
  // Where the mode is a knob, each setting says its own.
  job.mode = input.wanted.slack ? SyncMode::Async() : input.mode;
  job.seed = input.seed;
  job.history = earlier_.history();
  job.signature = input.signature;
  auto made = tuner::Tuner::Create(std::move(job), priors);
  if (!made.ok()) {
    stage_ = Stage::kDone;
    shown_.Say("the tuner cannot work on this job: " + std::string(Message(made.status())));
    return false;
  }
  if (made->space().size() < 2) {
    stage_ = Stage::kDone;
    shown_.Say(WhyNothingToTry(input));
    return false;
  }
  tuner_ = *std::move(made);
  return true;
}

void TuningLoop::Learn(const TuningInput& input, tuner::PriorCache& priors) {
  if (!tuner_ && !Begin(input, priors)) {
    if (stage_ == Stage::kDone) Remember();
    return;
  }
  course_.Begin(input);
  stage_ = Stage::kAtWork;
  shown_.Say("measuring " + ToString(course_.here()));
  stay_.Extend(input.time, static_cast<double>(input.policy.window_seconds));
  window_.Open(input, input.time);
  Remember();
}

// Time until now is reported to the tuner. While pods start, the job runs on where it was.
void TuningLoop::CloseWindow(const TuningInput& input, bool during_change) {
  if (!tuner_) return;
  auto report = window_.Close(input, during_change);
  if (!report) return;
  report->setting = ToSetting(course_.running());
  // A report that cannot be true is counted by the tuner and changes nothing.
  [[maybe_unused]] const Status taken = tuner_->Absorb(*report);
}

void TuningLoop::FollowUser(const TuningInput& input) {
  shown_.Say("a user chose " + ToString(input.wanted) + "; measuring that");
  course_.Follow(input);
}

void TuningLoop::Order(const TuningInput& input, const JobSetting& target, bool trial, TuningOutput& output) {
  CloseWindow(input, true);
  course_.Order(input, target, trial);
  output.look_again = 1;
}

void TuningLoop::Settle(const TuningInput& input) {
  CloseWindow(input, true);
  course_.Arrive(input);
  knobs_.Settle();
  stay_.Begin(input.time);
  window_.Drop();
  Remember();
}

void TuningLoop::Move(const TuningInput& input, TuningOutput& output) {
  output.look_again = 1;
  if (input.wanted != course_.here()) {
    if (course_.IsUnwritten(input)) {
      output.change = course_.here();
      return;
    }
    FollowUser(input);
  }
  if (course_.is_trial() && course_.HasFailed(input))
    return Crashed(input, "a process failed on the way there", output);
  if (window_.is_open() && window_.Length(input.time) >= static_cast<double>(input.policy.window_seconds))
    CloseWindow(input, true);
  if (IsInfeasible(input, output)) return;
  const double waited = course_.Waited(input);
  if (input.settled && (!input.rows_moving || waited > kRowsTimeout)) return Settle(input);
  if (waited <= kMovingTimeout) return;
  if (!course_.HasWayBack()) return Settle(input);  // measure what there is
  Crashed(input, "it had not come about after " + api::FormatSeconds(waited), output);
}

// Recorded, never proposed again, and left for where the job came from.
void TuningLoop::Crashed(const TuningInput& input, const std::string& what, TuningOutput& output) {
  tuner::Report report;
  report.ok = false;
  report.setting = ToSetting(course_.here());
  report.time = input.time;
  [[maybe_unused]] const Status taken = tuner_->Absorb(report);
  if (!past_.empty()) past_.back().crashed = true;
  output.events.push_back(
      {true, kEventTuningCrashed,
       ToString(course_.here()) + " is not tried again: " + what + ". Going back to " + ToString(course_.from())});
  shown_.Say("going back to " + ToString(course_.from()) + ": at " + ToString(course_.here()) + " " + what);
  stay_.Plan(static_cast<double>(input.policy.window_seconds));
  CloseWindow(input, true);
  course_.GoBack(input);
  output.look_again = 1;
  Remember();
}

void TuningLoop::Stay(const TuningInput& input, TuningOutput& output) {
  const auto window = static_cast<double>(input.policy.window_seconds);
  if (input.wanted != course_.here()) {
    CloseWindow(input, true);
    FollowUser(input);
    stay_.Plan(window);
    return Remember();
  }
  const bool failed = course_.HasFailed(input);
  if (course_.is_trial() && failed) return Crashed(input, "a process failed there", output);
  course_.CountFailures(input);
  output.look_again = std::clamp(stay_.Left(input.time), 0.5, window);
  if (!input.settled) {  // a pod is being replaced: its time says nothing of the setting
    if (stay_.Interrupt(input.time, failed, window)) CloseWindow(input, true);
    return;
  }
  stay_.Resume();
  if (!window_.is_open()) {
    if (stay_.IsWarm(input.time)) window_.Open(input, input.time);
    output.look_again = std::min(output.look_again, SettingStay::kWarmUpSeconds);
    return;
  }
  const double length = window_.Length(input.time);
  if (length >= 0.98 * window) {
    CloseWindow(input, false);
    stay_.Measured();
  }
  if (!stay_.IsOver(input.time)) return;
  // A setting that nothing was measured at cannot be judged, however long the job has been there.
  if (stay_.is_measured()) return Decide(input, output);
  output.look_again = std::clamp(window - length, 0.1, 1.0);
}

void TuningLoop::Decide(const TuningInput& input, TuningOutput& output) {
  if (const auto ending = EndingOf(input)) tuner_->SetEnding(input.time, *ending);
  if (input.policy.mode == api::TuningMode::kRecommend) return Recommend(input, output);
  if (!course_.is_trial() && WaitsForPolicy(input)) return Remember();
  const JobSetting here = course_.here();
  const tuner::Decision decision = tuner_->Decide(input.time, ToSetting(here));
  shown_.Expect(decision.remaining);
  earlier_.Report(*tuner_, output.events);
  const JobSetting target = FromSetting(tuner_->space(), decision.setting);
  if (target != here && HoldsBack(input, decision, target, output)) return Remember();
  const bool trial = decision.kind == tuner::DecisionKind::kTrial;
  stay_.Plan(decision.seconds);
  const bool first_keep = !trial && !tuner_->records().empty();
  if (target == here) {
    course_.Keep(trial);
    stay_.Extend(input.time, decision.seconds);
    shown_.Say((trial ? "trying " : "keeping ") + ToString(here) + ": " + decision.why);
  } else {
    shown_.Say((trial ? "trying " : "moving to ") + ToString(target) + " (from " + ToString(here) +
               "): " + decision.why);
    output.events.push_back({false, trial ? kEventTuningTrial : kEventTuningMove,
                             (trial ? "Trying " : "Moving to ") + ToString(target) + " instead of " + ToString(here) +
                                 ": " + decision.why});
    Order(input, target, trial, output);
  }
  if (input.policy.mode == api::TuningMode::kInitial && first_keep && target == here) {
    stage_ = Stage::kDone;
    shown_.Say("kept " + ToString(here) + ", the best setting found at the beginning");
    output.events.push_back({false, kEventTuningFinished, "Kept " + ToString(here) + "; tuning.mode is Initial"});
  }
  Remember();
}

// Nothing is tried: what the model believes, from this setting's speed and how such systems behave.
void TuningLoop::Recommend(const TuningInput& input, TuningOutput& output) {
  const tuner::Decision decision = tuner_->Decide(input.time, ToSetting(course_.here()));
  shown_.Expect(decision.remaining);
  JobSetting best = course_.here();
  std::string why = "no other setting is clearly better";
  constexpr double kGainMin = 0.05;
  for (const tuner::SettingBelief& belief : tuner_->Beliefs(16)) {
    if (belief.crash_probability > 0.2 || belief.gain.mean < kGainMin || belief.gain.mean < belief.gain.deviation)
      continue;
    best = FromSetting(tuner_->space(), belief.setting);
    why = "expected " + tuner::Text(belief.gain) + " progress per second, by how such jobs behave; it was not tried";
    break;
  }
  if (shown_.Recommend(best)) {
    output.events.push_back({false, kEventTuningRecommended, "Recommends " + ToString(best) + ": " + why});
  }
  shown_.Say("recommends " + ToString(best) + ": " + why);
  stay_.Extend(input.time, decision.seconds);
  Remember();
}

std::optional<tuner::HistoryEntry> TuningLoop::Summary() const {
  if (!tuner_) return std::nullopt;
  return tuner_->Summary();
}

}  // namespace attune::controller
