// What the tuner's loop says of itself in the job's status, for people. It follows what is saved, so that it changes
// when that does and not with the clock.
#include <nlohmann/json.hpp>

#include "operator/controller/observe/text.h"
#include "operator/controller/tuning/job_space.h"
#include "operator/controller/tuning/tuning_loop.h"

namespace attune::controller {
namespace {

constexpr size_t kWhyBytesMax = 512;

const char* OutcomeName(tuner::Verdict verdict) {
  switch (verdict) {
    case tuner::Verdict::kOpen:
      return "Open";
    case tuner::Verdict::kKept:
      return "Kept";
    case tuner::Verdict::kRolledBack:
      return "RolledBack";
    case tuner::Verdict::kRejected:
      return "NotTaken";
    case tuner::Verdict::kCrashed:
      return "Crashed";
    case tuner::Verdict::kUnjudged:
      return "Unjudged";
  }
  return "";
}

api::TuningDecision DecisionOf(const tuner::NamedRecord& named) {
  const tuner::DecisionRecord& record = named.record;
  return {.number = record.number,
          .elapsed_seconds = record.time,
          .time = "",
          .kind = record.kind == tuner::DecisionKind::kTrial ? "Trial" : "Move",
          .from = tuner::SettingText(record.from, named.knobs),
          .to = tuner::SettingText(record.to, named.knobs),
          .why = FitText(record.why, kWhyBytesMax),
          .expected = tuner::Text(record.predicted),
          .measured = record.measured ? tuner::Text(*record.measured) : "",
          .outcome = OutcomeName(record.verdict)};
}

api::TuningSetting Shown(const JobSetting& setting) {
  return {.servers = setting.servers,
          .workers = setting.workers,
          .threads = setting.threads,
          .slack = setting.slack,
          .worker_millicores = setting.worker_millicores,
          .server_millicores = setting.server_millicores,
          .updates_per_second = {},
          .remaining_seconds = {}};
}

const char* StageName(bool paused, bool moving, bool trial, bool learning) {
  if (paused) return "Paused";
  if (learning) return "Learning";
  return moving ? "Moving" : trial ? "Trying" : "Keeping";
}

}  // namespace

std::vector<api::TuningDecision> TuningLoop::DecisionsOf(const std::string& saved) {
  const std::vector<tuner::NamedRecord> story = StoryOf(saved);
  std::vector<api::TuningDecision> decisions;
  for (size_t i = story.size() - std::min(story.size(), api::TuningStatus::kDecisionsShown); i < story.size(); ++i)
    decisions.push_back(DecisionOf(story[i]));
  return decisions;
}

api::TuningSetting TuningLoop::Describe(const JobSetting& setting) const {
  api::TuningSetting shown = Shown(setting);
  const auto belief = tuner_->BeliefAbout(ToSetting(setting));
  if (!belief || belief->seconds_per_update <= 0) return shown;
  shown.updates_per_second = 1 / belief->seconds_per_update;
  if (remaining_) shown.remaining_seconds = remaining_->mid * belief->relative_time;  // it is the best setting's
  return shown;
}

void TuningLoop::Describe() {
  shown_decisions_ = DecisionsOf(state_);
  shown_current_.reset();
  shown_best_.reset();
  if (!tuner_) return;
  shown_current_ = Describe(course_.running());
  if (!tuner_->records().empty() || remaining_)
    shown_best_ = Describe(FromSetting(tuner_->space(), tuner_->Incumbent()));
}

void TuningLoop::FillStatus(const TuningInput& input, TuningOutput& output) const {
  api::TuningStatus& status = output.status;
  if (stage_ == Stage::kDone) {
    status.stage = tuner_ ? "Finished" : "Unavailable";
  } else {
    status.stage = StageName(input.policy.paused, IsMoving(), course_.is_trial(), stage_ == Stage::kLearning);
  }
  status.message = FitText(input.policy.paused ? "paused; the job keeps " + ToString(input.wanted) : message_, 1024);
  // Once tuning has ended, also because what is left is too short, the job still has the setting its spec asks for.
  if (tuner_ || stage_ == Stage::kDone) {
    const JobSetting& setting = stage_ == Stage::kDone ? input.wanted : course_.here();
    status.servers = setting.servers;
    status.workers = setting.workers;
    status.threads = setting.threads;
    status.slack = setting.slack;
    status.worker_millicores = setting.worker_millicores;
    status.server_millicores = setting.server_millicores;
  }
  if (recommended_ && input.policy.mode == api::TuningMode::kRecommend) {
    status.recommended_servers = recommended_->servers;
    status.recommended_workers = recommended_->workers;
    status.recommended_threads = recommended_->threads;
    status.recommended_slack = recommended_->slack;
    status.recommended_worker_millicores = recommended_->worker_millicores;
    status.recommended_server_millicores = recommended_->server_millicores;
  }
  if (remaining_) {  // as of the last decision: what changes with the clock alone would be written again and again
    status.remaining_low = remaining_->low;
    status.remaining_seconds = remaining_->mid;
    status.remaining_high = remaining_->high;
  }
  status.changes = course_.kept().changes;
  if (shown_current_) status.current = shown_current_;
  // Once it has finished, a user may have chosen another setting.
  if (stage_ == Stage::kDone && input.wanted != course_.here()) status.current = Shown(input.wanted);
  status.best = shown_best_;
  status.decisions = shown_decisions_;
  output.state = state_;
}

}  // namespace attune::controller
