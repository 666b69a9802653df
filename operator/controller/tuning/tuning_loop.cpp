#include "operator/controller/tuning/tuning_loop.h"

#include <algorithm>
#include <cmath>

#include "operator/api/format.h"
#include "operator/controller/observe/names.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/tuning/job_space.h"

namespace attune::controller {
namespace {

// Until new pods take part: a job starts with servers, then workers, so about half of what that took; within bounds,
// because the tuner may have been asked later.
constexpr double kChangeSecondsMin = 1, kChangeSecondsMax = 10;

// Over the pods of which it is known; nothing when there are none.
template <typename Value>
std::optional<double> Mean(const std::vector<NodeFigures>& nodes, Value value) {
  double sum = 0;
  int count = 0;
  for (const NodeFigures& node : nodes) {
    const std::optional<double> known = value(node);
    if (!known) continue;
    sum += *known;
    ++count;
  }
  return count > 0 ? std::optional<double>(sum / count) : std::nullopt;
}

// Without a limit of CPU there is no share of it.
std::optional<double> MeanShare(const std::vector<NodeFigures>& nodes, double NodeFigures::*share) {
  return Mean(
      nodes, [&](const NodeFigures& node) { return node.cpu > 0 ? std::optional<double>(node.*share) : std::nullopt; });
}

std::optional<double> MeanAtWork(const std::vector<NodeFigures>& nodes) {
  return Mean(nodes, [](const NodeFigures& node) { return node.at_work; });
}

}  // namespace

// Knobs that are not the tuner's to choose in this job are left out of its settings.
void TuningLoop::TakeKnobs(TuningInput& input) {
  if (threads_max_ == 0) threads_max_ = input.threads_max;
  if (threads_max_ == 0) {
    input.wanted.threads.reset();
  } else if (!input.wanted.threads) {  // no worker has reported yet, to this operator
    input.wanted.threads = here_.threads.value_or(1);
  }
  if (!AllowsSlack(input)) input.wanted.slack.reset();
  for (const auto cpu : {&JobSetting::worker_millicores, &JobSetting::server_millicores}) {
    if (ceiling_.*cpu) input.high.*cpu = std::min((input.high.*cpu).value_or(*(ceiling_.*cpu)), *(ceiling_.*cpu));
  }
}

TuningOutput TuningLoop::Step(const TuningInput& given, tuner::PriorCache& priors) {
  TuningInput input = given;
  Restore(priors);
  TakeKnobs(input);
  // The wall clock says once where the job stands; from there on time passes as it does, whatever that clock does.
  if (!ahead_) ahead_ = std::max(time_, std::isfinite(given.age) ? given.age : 0.0) - given.time;
  time_ = input.time = std::max(time_, given.time + *ahead_);
  TuningOutput output;
  output.look_again = static_cast<double>(input.policy.window_seconds);
  LookAtHealth(input, output);
  if (!input.training) {
    window_.reset();
    if (message_.empty()) message_ = "waiting for the first reports of a job that trains";
  } else if (!input.policy.paused) {
    room_.Look(given.room, input.time);
    std::string key =
        RangesKey(SpaceOf(input, room_.room(), threads_max_)) + room_.Key() + ObjectiveKey(input.policy.objective);
    // What was only recommended was not tried: a tuner that goes to work begins with the measurements alone.
    if (input.policy.mode == api::TuningMode::kRecommend) key += kRecommends;
    if (key != space_key_ && (tuner_ || stage_ == Stage::kDone)) {  // another policy: what was measured is kept
      Retire(output);
      stage_ = Stage::kLearning;
    }
    space_key_ = key;
    // What Initial has found is where another mode continues from.
    if (stage_ == Stage::kDone && tuner_ && input.policy.mode != api::TuningMode::kInitial) stage_ = Stage::kLearning;
    if (stage_ == Stage::kDone) {
      window_.reset();
    } else if (!tuner_ || stage_ == Stage::kLearning) {
      Learn(input, priors);
    } else if (stage_ == Stage::kMoving) {
      Move(input, output);
    } else {
      Stay(input, output);
    }
  } else {
    window_.reset();
  }
  ActOnFindings(input, output);
  FillStatus(input, output);
  output.changing = stage_ == Stage::kMoving;
  return output;
}

// Another tuner follows, with other knobs: what this one measured and what it did are kept.
void TuningLoop::Retire(TuningOutput& output) {
  if (!tuner_) return;
  history_.Add(tuner_->Summary());
  spent_ += tuner_->spent();
  if (!space_key_.ends_with(kRecommends)) {
    for (const tuner::DecisionRecord& record : tuner_->records()) {
      tuner::NamedRecord named = tuner::WithNames(record, tuner_->space());
      named.record.number += numbered_;
      if (record.verdict == tuner::Verdict::kOpen) named.record.verdict = tuner::Verdict::kUnjudged;
      // Every change that Events announce has its outcome among them.
      if (named.record.number > reported_) output.events.push_back({false, kEventTuningOutcome, tuner::Explain(named)});
      story_.push_back(std::move(named));
    }
    if (!tuner_->records().empty()) numbered_ += tuner_->records().back().number;
    if (story_.size() > kStoryMax) story_.erase(story_.begin(), story_.end() - static_cast<std::ptrdiff_t>(kStoryMax));
  }
  reported_ = numbered_;
  tuner_.reset();
}

bool TuningLoop::Begin(const TuningInput& input, tuner::PriorCache& priors) {
  const auto window = static_cast<double>(input.policy.window_seconds);
  if (!first_ || input.steps < first_->steps) first_ = input;
  message_ = "finding out how fast the job is now";
  if (input.time - first_->time < window || input.steps == first_->steps) return false;
  const auto ending = EndingOf(input);
  if (!ending) return false;
  const auto goal = GoalOf(input, *ending);
  if (!goal) return false;
  const double per_second = static_cast<double>(input.steps - first_->steps) / (input.time - first_->time);
  const double left = std::min(ending->steps / per_second, ending->seconds);
  if (left < kShortJobWindows * window) {
    stage_ = Stage::kDone;
    message_ = "the job ends in about " + api::FormatSeconds(left) + ", too short to try other settings (" +
               std::to_string(static_cast<int>(kShortJobWindows)) + " windows of " +
               std::to_string(input.policy.window_seconds) + " s at least)";
    return false;
  }
  tuner::JobDescription job;
  job.space = SpaceOf(input, room_.room(), threads_max_);
  job.goal = *goal;
  job.objective = ObjectiveOf(input, spent_);
  job.costs.pods = std::clamp(first_->time / 2, kChangeSecondsMin, kChangeSecondsMax);
  job.window_seconds = window;
  // Where the mode is a knob, each setting says its own.
  job.mode = input.wanted.slack ? SyncMode::Async() : input.mode;
  job.seed = input.seed;
  job.history = history_;
  job.signature = input.signature;
  auto made = tuner::Tuner::Create(std::move(job), priors);
  if (!made.ok()) {
    stage_ = Stage::kDone;
    message_ = "the tuner cannot work on this job: " + std::string(Message(made.status()));
    return false;
  }
  if (made->space().size() < 2) {
    stage_ = Stage::kDone;
    message_ = WhyNothingToTry(input);
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
  here_ = input.wanted;
  trial_ = false;
  failures_ = input.failures;
  stage_ = Stage::kStaying;
  message_ = "measuring " + ToString(here_);
  stay_until_ = input.time + static_cast<double>(input.policy.window_seconds);
  OpenWindow(input, input.time);
  Remember();
}

void TuningLoop::OpenWindow(const TuningInput& input, double begin) {
  window_ = Window{begin, input.steps, input.loss_sum, input.loss_weight, input.metric_reports};
}

// What happened since the window was opened; steps count even when nothing else of them is worth knowing.
void TuningLoop::CloseWindow(const TuningInput& input, bool during_change) {
  if (!window_ || !tuner_) return;
  const Window window = *window_;
  OpenWindow(input, input.time);
  if (input.steps < window.steps || input.time - window.begin < 0.05) return;
  tuner::Report report;
  report.setting = ToSetting(stage_ == Stage::kMoving ? running_ : here_);
  report.time = input.time;
  report.seconds = input.time - window.begin;
  report.steps = static_cast<double>(input.steps - window.steps);
  const double weight = input.loss_weight - window.loss_weight;
  if (weight > 0) report.loss_mean = (input.loss_sum - window.loss_sum) / weight;
  // One value is one piece of news, however many windows pass until the next.
  if (input.metric_reports != window.metric_reports) report.metric = input.metric;
  report.staleness = input.staleness;
  // Pods say how they are now: the last window of a change ends at the new setting and names the old one.
  if (!during_change || !input.settled) {
    report.server_memory = input.server_memory;
    report.worker_memory = input.worker_memory;
    report.worker_throttled = MeanShare(input.worker_figures, &NodeFigures::throttled);
    report.worker_cpu = MeanShare(input.worker_figures, &NodeFigures::cpu);
    report.server_throttled = MeanShare(input.server_figures, &NodeFigures::throttled);
    report.server_cpu = MeanShare(input.server_figures, &NodeFigures::cpu);
  }
  report.worker_compute = MeanAtWork(input.worker_figures);
  report.server_busy = MeanAtWork(input.server_figures);
  report.during_change = during_change;
  // A report that cannot be true is counted by the tuner and changes nothing.
  [[maybe_unused]] const Status taken = tuner_->Absorb(report);
}

// While pods start, the job runs on where it was.
void TuningLoop::Leave(const TuningInput& input) {
  if (stage_ != Stage::kMoving) running_ = here_;
  stage_ = Stage::kMoving;
  moving_since_ = input.time;
  ordered_generation_ = input.generation;
}

void TuningLoop::Order(const TuningInput& input, JobSetting target, TuningOutput& output) {
  Leave(input);
  from_ = here_;
  here_ = target;
  failures_ = input.failures;
  ++changes_;
  output.look_again = 1;
}

void TuningLoop::Settle(const TuningInput& input) {
  CloseWindow(input, true);
  stage_ = Stage::kStaying;
  measured_ = false;
  ceiling_ = next_ceiling_;
  stay_until_ = input.time + kWarmUpSeconds + stay_seconds_;
  failures_ = std::max(failures_, input.failures);
  window_.reset();
  Remember();
}

void TuningLoop::Move(const TuningInput& input, TuningOutput& output) {
  output.look_again = 1;
  if (input.wanted != here_) {
    if (input.generation == ordered_generation_) {
      output.change = here_;  // not written yet
      return;
    }
    message_ = "a user chose " + ToString(input.wanted) + "; measuring that";
    Leave(input);
    here_ = input.wanted;
    trial_ = false;
  }
  if (trial_ && input.failures > failures_) return Crashed(input, here_, "a process failed on the way there", output);
  if (window_ && input.time - window_->begin >= static_cast<double>(input.policy.window_seconds))
    CloseWindow(input, true);
  if (IsInfeasible(input, output)) return;
  const double waited = input.time - moving_since_;
  if (input.settled && (!input.rows_moving || waited > kRowsTimeout)) return Settle(input);
  if (waited <= kMovingTimeout) return;
  if (from_ == here_) return Settle(input);  // nowhere to go back to: measure what there is
  Crashed(input, here_, "it had not come about after " + api::FormatSeconds(waited), output);
}

// Recorded, never proposed again, and left for where the job came from.
void TuningLoop::Crashed(const TuningInput& input, const JobSetting& where, const std::string& what,
                         TuningOutput& output) {
  tuner::Report report;
  report.ok = false;
  report.setting = ToSetting(where);
  report.time = input.time;
  [[maybe_unused]] const Status taken = tuner_->Absorb(report);
  if (!past_.empty()) past_.back().crashed = true;
  output.events.push_back({true, kEventTuningCrashed,
                           ToString(where) + " is not tried again: " + what + ". Going back to " + ToString(from_)});
  message_ = "going back to " + ToString(from_) + ": at " + ToString(where) + " " + what;
  trial_ = false;
  stay_seconds_ = static_cast<double>(input.policy.window_seconds);
  CloseWindow(input, true);
  Order(input, from_, output);
  from_ = here_;
  Remember();
}

void TuningLoop::Stay(const TuningInput& input, TuningOutput& output) {
  if (input.wanted != here_) {
    message_ = "a user chose " + ToString(input.wanted) + "; measuring that";
    CloseWindow(input, true);
    Leave(input);
    here_ = from_ = input.wanted;
    trial_ = false;
    stay_seconds_ = static_cast<double>(input.policy.window_seconds);
    return Remember();
  }
  if (trial_ && input.failures > failures_) return Crashed(input, here_, "a process failed there", output);
  const bool failed = input.failures > failures_;
  failures_ = std::max(failures_, input.failures);
  output.look_again = std::clamp(stay_until_ - input.time, 0.5, static_cast<double>(input.policy.window_seconds));
  if (!input.settled) {  // a pod is being replaced: its time says nothing of the setting
    if (!unsettled_since_) unsettled_since_ = input.time;
    if (!failed && input.time - *unsettled_since_ < kLateSeconds) return;
    CloseWindow(input, true);
    stay_until_ = std::max(stay_until_, input.time + static_cast<double>(input.policy.window_seconds));
    return;
  }
  unsettled_since_.reset();
  if (!window_) {
    if (input.time >= stay_until_ - stay_seconds_) OpenWindow(input, input.time);
    output.look_again = std::min(output.look_again, kWarmUpSeconds);
    return;
  }
  const double length = input.time - window_->begin;
  if (length >= 0.98 * static_cast<double>(input.policy.window_seconds)) {
    CloseWindow(input, false);
    measured_ = true;
  }
  if (input.time < stay_until_ - 0.02) return;
  // A setting that nothing was measured at cannot be judged, however long the job has been there.
  if (measured_) return Decide(input, output);
  output.look_again = std::clamp(static_cast<double>(input.policy.window_seconds) - length, 0.1, 1.0);
}

void TuningLoop::Decide(const TuningInput& input, TuningOutput& output) {
  if (const auto ending = EndingOf(input)) tuner_->SetEnding(input.time, *ending);
  if (input.policy.mode == api::TuningMode::kRecommend) return Recommend(input, output);
  if (!trial_ && WaitsForPolicy(input)) return Remember();
  const tuner::Decision decision = tuner_->Decide(input.time, ToSetting(here_));
  remaining_ = decision.remaining;
  ReportOutcomes(output);
  const JobSetting target = FromSetting(tuner_->space(), decision.setting);
  if (target != here_ && HoldsBack(input, decision, target, output)) return Remember();
  trial_ = decision.kind == tuner::DecisionKind::kTrial;
  stay_seconds_ = decision.seconds;
  const bool first_keep = !trial_ && !tuner_->records().empty();
  if (target == here_) {
    stay_until_ = input.time + decision.seconds;
    message_ = (trial_ ? "trying " : "keeping ") + ToString(here_) + ": " + decision.why;
  } else {
    message_ =
        (trial_ ? "trying " : "moving to ") + ToString(target) + " (from " + ToString(here_) + "): " + decision.why;
    output.events.push_back({false, trial_ ? kEventTuningTrial : kEventTuningMove,
                             (trial_ ? "Trying " : "Moving to ") + ToString(target) + " instead of " + ToString(here_) +
                                 ": " + decision.why});
    CloseWindow(input, true);
    Order(input, target, output);
  }
  if (input.policy.mode == api::TuningMode::kInitial && first_keep && target == here_ && stage_ == Stage::kStaying) {
    stage_ = Stage::kDone;
    message_ = "kept " + ToString(here_) + ", the best setting found at the beginning";
    output.events.push_back({false, kEventTuningFinished, "Kept " + ToString(here_) + "; tuning.mode is Initial"});
  }
  Remember();
}

// Nothing is tried: what the model believes, from this setting's speed and how such systems behave.
void TuningLoop::Recommend(const TuningInput& input, TuningOutput& output) {
  const tuner::Decision decision = tuner_->Decide(input.time, ToSetting(here_));
  remaining_ = decision.remaining;
  JobSetting best = here_;
  std::string why = "no other setting is clearly better";
  constexpr double kGainMin = 0.05;
  for (const tuner::SettingBelief& belief : tuner_->Beliefs(16)) {
    if (belief.crash_probability > 0.2 || belief.gain.mean < kGainMin || belief.gain.mean < belief.gain.deviation)
      continue;
    best = FromSetting(tuner_->space(), belief.setting);
    why = "expected " + tuner::Text(belief.gain) + " progress per second, by how such jobs behave; it was not tried";
    break;
  }
  if (recommended_ != best) {
    output.events.push_back({false, kEventTuningRecommended, "Recommends " + ToString(best) + ": " + why});
  }
  recommended_ = best;
  message_ = "recommends " + ToString(best) + ": " + why;
  stay_until_ = input.time + decision.seconds;
  Remember();
}

// Changes whose worth is known now, each once.
void TuningLoop::ReportOutcomes(TuningOutput& output) {
  for (const tuner::DecisionRecord& record : tuner_->records()) {
    if (record.number + numbered_ <= reported_ || record.verdict == tuner::Verdict::kOpen) continue;
    reported_ = record.number + numbered_;
    output.events.push_back(
        {record.verdict == tuner::Verdict::kCrashed, kEventTuningOutcome, tuner::Explain(record, tuner_->space())});
  }
}

std::optional<tuner::HistoryEntry> TuningLoop::Summary() const {
  if (!tuner_) return std::nullopt;
  return tuner_->Summary();
}

}  // namespace attune::controller
