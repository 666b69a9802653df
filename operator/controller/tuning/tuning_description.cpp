// What the tuner's loop says of itself in the job's status, for people.
#include "operator/controller/tuning/job_space.h"
#include "operator/controller/tuning/tuning_loop.h"

namespace attune::controller {
namespace {

const char* StageName(bool paused, bool moving, bool trial, bool learning) {
  if (paused) return "Paused";
  if (learning) return "Learning";
  return moving ? "Moving" : trial ? "Trying" : "Keeping";
}

}  // namespace

ShownTuning::Believed TuningLoop::Believe(const JobSetting& setting) const {
  return {.setting = setting, .belief = tuner_->BeliefAbout(ToSetting(setting))};
}

void TuningLoop::Describe() {
  std::optional<ShownTuning::Believed> running, best;
  if (tuner_) {
    running = Believe(course_.running());
    if (!tuner_->records().empty() || shown_.HasExpectation())
      best = Believe(FromSetting(tuner_->space(), tuner_->Incumbent()));
  }
  shown_.Update(StoryOf(state_), running, best);
}

void TuningLoop::FillStatus(const TuningInput& input, TuningOutput& output) const {
  api::TuningStatus& status = output.status;
  if (stage_ == Stage::kDone) {
    status.stage = tuner_ ? "Finished" : "Unavailable";
  } else {
    status.stage = StageName(input.policy.paused, IsMoving(), course_.is_trial(), stage_ == Stage::kLearning);
  }
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
  shown_.Fill(input, status);
  status.changes = course_.kept().changes;
  status.policy_refusals = policy_refusals_;
  // Once it has finished, a user may have chosen another setting.
  if (stage_ == Stage::kDone && input.wanted != course_.here()) status.current = ShownTuning::Shown(input.wanted);
  output.state = state_;
}

}  // namespace attune::controller
