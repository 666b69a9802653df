#include "operator/controller/status/tuning_status.h"

#include <algorithm>
#include <chrono>

#include "operator/controller/observe/timestamp.h"
#include "operator/controller/status/status.h"

namespace attune::controller {
namespace {

constexpr char kOff[] = "Off", kUnavailable[] = "Unavailable";

// What was tried and learned is kept: it can be asked for, and a tuner that is turned on again continues from it.
void TurnOff(api::TuningStatus& tuning, Now now) {
  if (tuning.stage == kOff) return;
  tuning = api::TuningStatus{.stage = kOff,
                             .message = "tuning is off (spec.tuning.mode); the setting is left as it is",
                             .since = ToRfc3339(now.wall),
                             .changes = tuning.changes,
                             .policy_refusals = tuning.policy_refusals,
                             .decisions = std::move(tuning.decisions),
                             .state = std::move(tuning.state)};
}

void SetTimes(const std::string& start_time, api::TuningStatus& tuning) {
  const auto start = ParseRfc3339(start_time);
  if (!start) return;
  for (api::TuningDecision& decision : tuning.decisions) {
    decision.time = ToRfc3339(
        *start + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(decision.elapsed_seconds)));
  }
}

}  // namespace

void SetTuning(const Observed& observed, api::TrainingJobStatus& status, Now now) {
  if (observed.job.spec.tuning.mode == api::TuningMode::kOff) {
    std::erase_if(status.conditions, [](const auto& condition) { return condition.type == api::kTuning; });
    if (status.tuning) TurnOff(*status.tuning, now);
    return;
  }
  const auto blocked = std::ranges::find_if(observed.blocked, IsAboutTuningRecord);
  const bool is_blocked = blocked != observed.blocked.end();
  if (!observed.tuning && !is_blocked) return;
  const auto before = status.tuning;
  // What an operator of an earlier version left here is in the record once there is something to say.
  if (observed.tuning) status.tuning = observed.tuning->status;
  api::TuningStatus& tuning = status.tuning ? *status.tuning : status.tuning.emplace();
  if (is_blocked) {
    tuning.stage = kUnavailable;
    tuning.message = "what the tuner must not forget cannot be kept, so the job keeps its setting: " + blocked->message;
  }
  SetTimes(status.start_time, tuning);
  tuning.since = before && before->stage == tuning.stage ? before->since : ToRfc3339(now.wall);
  const bool at_work = tuning.stage != "Paused" && tuning.stage != "Finished" && tuning.stage != kUnavailable;
  SetCondition(status, api::kTuning, at_work, tuning.stage, tuning.message, observed.job.generation, now.wall);
}

}  // namespace attune::controller
