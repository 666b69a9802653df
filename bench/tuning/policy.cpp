#include "bench/tuning/policy.h"

#include "base/check.h"

namespace attune::bench {
namespace {

class TunerPolicy final : public Policy {
 public:
  explicit TunerPolicy(tuner::Tuner tuner) : tuner_(std::move(tuner)) {}
  void Absorb(const tuner::Report& report) override { tuner_.Absorb(report).IgnoreError(); }
  tuner::Decision Decide(double now, const tuner::Setting& current) override { return tuner_.Decide(now, current); }
  const tuner::Tuner* AsTuner() const override { return &tuner_; }

 private:
  tuner::Tuner tuner_;
};

}  // namespace

tuner::JobDescription Describe(const JobModel& job) {
  tuner::JobDescription description;
  description.space.knobs = job.Knobs();
  description.space.limits = job.limits;
  // Limits of CPU have too many levels to be listed.
  if (!job.cpu) {
    for (const Point& point : job.settings) description.space.allowed.push_back(job.ToSetting(point));
  }
  description.space.current = job.ToSetting(job.start);
  description.objective = job.objective;
  description.goal = {.kind = job.loss_goal ? tuner::GoalKind::kLoss : tuner::GoalKind::kSteps, .target = job.target};
  if (job.loss_goal) description.goal.max_steps = job.total_effective * (job.unreachable ? 1 : 10);
  description.costs = job.costs;
  if (job.restart_seconds > 0) {
    for (tuner::KnobRange& knob : description.space.knobs) knob.cost = tuner::CostClass::kLive;
    description.costs.live = job.restart_seconds;
  }
  description.window_seconds = job.window_seconds;
  description.mode = job.mode;
  description.seed = job.seed;
  return description;
}

std::unique_ptr<Policy> MakeTuner(const JobModel& job, tuner::PriorCache& priors, const tuner::TunerParts& parts) {
  tuner::JobDescription description = Describe(job);
  description.parts = parts;
  auto made = tuner::Tuner::Create(std::move(description), priors);
  ATTUNE_CHECK(made.ok()) << made.status().ToString();
  return std::make_unique<TunerPolicy>(*std::move(made));
}

}  // namespace attune::bench
