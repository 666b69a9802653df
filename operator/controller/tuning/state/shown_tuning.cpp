#include "operator/controller/tuning/state/shown_tuning.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "operator/controller/observe/text.h"

namespace attune::controller {
namespace {

constexpr size_t kTuningMessageBytesMax = 1024;
constexpr size_t kDecisionWhyBytesMax = 512;

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
          .why = FitText(record.why, kDecisionWhyBytesMax),
          .expected = tuner::Text(record.predicted),
          .measured = record.measured ? tuner::Text(*record.measured) : "",
          .outcome = OutcomeName(record.verdict),
          .expected_speedup = std::exp(record.predicted.mean),
          .measured_speedup = record.measured ? std::optional(std::exp(record.measured->mean)) : std::nullopt,
          .cost_seconds = record.cost_seconds};
}

}  // namespace

api::TuningSetting ShownTuning::Shown(const JobSetting& setting) {
  return {.servers = setting.servers,
          .workers = setting.workers,
          .threads = setting.threads,
          .slack = setting.slack,
          .worker_millicores = setting.worker_millicores,
          .server_millicores = setting.server_millicores,
          .updates_per_second = {},
          .remaining_seconds = {}};
}

api::TuningSetting ShownTuning::Shown(const Believed& believed) const {
  api::TuningSetting shown = Shown(believed.setting);
  const auto& belief = believed.belief;
  if (!belief || belief->seconds_per_update <= 0) return shown;
  shown.updates_per_second = 1 / belief->seconds_per_update;
  if (remaining_) shown.remaining_seconds = remaining_->mid * belief->relative_time;  // it is the best setting's
  return shown;
}

bool ShownTuning::Recommend(const JobSetting& best) {
  if (recommended_ == best) return false;
  recommended_ = best;
  return true;
}

void ShownTuning::Update(const std::vector<tuner::NamedRecord>& story, const std::optional<Believed>& running,
                         const std::optional<Believed>& best) {
  decisions_.clear();
  for (size_t i = story.size() - std::min(story.size(), api::TuningStatus::kDecisionsShown); i < story.size(); ++i)
    decisions_.push_back(DecisionOf(story[i]));
  running_ = running ? std::optional(Shown(*running)) : std::nullopt;
  best_ = best ? std::optional(Shown(*best)) : std::nullopt;
}

void ShownTuning::Fill(const TuningInput& input, api::TuningStatus& status) const {
  status.message = FitText(input.policy.paused ? "paused; the job keeps " + ToString(input.wanted) : message_,
                           kTuningMessageBytesMax);
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
  status.current = running_;
  status.best = best_;
  status.decisions = decisions_;
}

}  // namespace attune::controller
