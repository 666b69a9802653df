#include "cli/simulation/simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/simulation/simulated_job.h"
#include "operator/controller/tuning/job_space.h"
#include "operator/controller/tuning/knobs_in_force.h"
#include "operator/controller/tuning/tuning_loop.h"
#include "operator/tuner/models/pricing.h"

namespace attune::cli {
namespace {

using controller::JobSetting;

constexpr double kHour = 3600;
// A job that is longer than so many looks, some days, is as good as decided: the rest is at the setting it has then.
constexpr int kLooksMax = 50'000;

// The settings that the tuner may choose from, and what they cost.
class Choice {
 public:
  static StatusOr<Choice> Of(const SimulationPlan& plan) {
    controller::TuningInput job = plan.job;
    controller::KnobsInForce knobs;
    knobs.Narrow(job, std::nullopt);
    knobs.Look(job);
    ASSIGN_OR_RETURN(tuner::SearchSpace space, tuner::SearchSpace::Create(knobs.Space(job)));
    if (space.size() < 2) return Error(StatusCode::kFailedPrecondition, controller::WhyNothingToTry(job));
    return Choice(std::move(space), controller::ObjectiveOf(job, 0));
  }

  const tuner::SearchSpace& space() const { return space_; }
  const tuner::Objective& objective() const { return objective_; }
  JobSetting At(int id) const { return controller::FromSetting(space_, space_.setting(id)); }
  // As people are shown it: without the pace, where that is not the tuner's to choose.
  JobSetting Shown(JobSetting setting) const {
    if (!space_.KnobIndex("slack")) setting.slack.reset();
    return setting;
  }
  // Per second.
  double Price(const JobSetting& setting) const { return PriceOf(IdOf(setting)); }
  double PriceOf(int id) const { return pricing_.PerHour(id) / kHour; }

 private:
  // A job has values also of what is no knob of its tuner. Every setting that is in force is of the space.
  int IdOf(JobSetting setting) const {
    if (!space_.KnobIndex("slack")) setting.slack.reset();
    if (!space_.KnobIndex("threads")) setting.threads.reset();
    const tuner::Setting values = controller::ToSetting(setting);
    return space_.Find(values).value_or(space_.Nearest(values));
  }

  Choice(tuner::SearchSpace space, tuner::Objective objective)
      : space_(std::move(space)), objective_(std::move(objective)), pricing_(objective_, space_) {}

  tuner::SearchSpace space_;
  tuner::Objective objective_;
  tuner::Pricing pricing_;
};

// The goal, at one setting from the first step to the last, without noise.
SimulatedCourse Stay(const SimulationPlan& plan, const JobSetting& setting, double price) {
  const double start = SimulatedJob::StartSeconds(plan.model);
  double training = plan.total_steps / FiguresAt(plan.model, setting, plan.job.mode).progress();
  SimulatedCourse course{.setting = setting};
  if (const auto& longest = plan.job.goal.max_duration_seconds; longest && training > static_cast<double>(*longest)) {
    course.fraction = static_cast<double>(*longest) / training;
    training = static_cast<double>(*longest);
    course.reached = false;
  }
  course.seconds = start + training;
  course.cost = course.seconds * price;
  return course;
}

// Less is better, by what the objective counts.
std::pair<double, double> Regret(const SimulatedCourse& course, const tuner::Objective& objective) {
  if (!course.reached) return {2, -course.fraction};
  if (objective.kind == tuner::ObjectiveKind::kCost) return {0, course.cost};
  if (objective.kind == tuner::ObjectiveKind::kTimeUnderBudget && course.cost > objective.budget)
    return {1, course.cost};
  return {0, course.seconds};
}

// Of equal ones the one that costs least.
SimulatedCourse BestStatic(const SimulationPlan& plan, const Choice& choice) {
  SimulatedCourse best;
  constexpr double kSame = 1e-9;
  for (int id = 0; id < choice.space().size(); ++id) {
    const SimulatedCourse course = Stay(plan, choice.At(id), choice.PriceOf(id));
    if (id == 0) best = course;
    const auto now = Regret(course, choice.objective()), before = Regret(best, choice.objective());
    const bool same =
        now.first == before.first && std::abs(now.second - before.second) <= kSame * std::abs(before.second);
    if (same ? course.cost < best.cost : now < before) best = course;
  }
  return best;
}

// The other way round than FromSetting, by the names that a record has.
JobSetting SettingOf(const std::vector<std::string>& knobs, const tuner::Setting& values) {
  JobSetting setting;
  for (size_t i = 0; i < knobs.size() && i < values.size(); ++i) {
    const std::string& knob = knobs[i];
    if (knob == "servers") setting.servers = values[i];
    if (knob == "workers") setting.workers = values[i];
    if (knob == "threads") setting.threads = values[i];
    if (knob == "slack") setting.slack = values[i];
    if (knob == "worker_millicores") setting.worker_millicores = values[i];
    if (knob == "server_millicores") setting.server_millicores = values[i];
  }
  return setting;
}

std::vector<SimulatedChange> ChangesOf(const SimulationPlan& plan, const Choice& choice, const std::string& state) {
  std::vector<SimulatedChange> changes;
  for (tuner::NamedRecord& named : controller::TuningLoop::StoryOf(state)) {
    const auto log_worth = [&](const tuner::Setting& values) {
      const JobSetting setting = SettingOf(named.knobs, values);
      const double progress = FiguresAt(plan.model, setting, plan.job.mode).progress();
      return std::log(choice.objective().kind == tuner::ObjectiveKind::kCost ? progress / choice.Price(setting)
                                                                             : progress);
    };
    const double gain = log_worth(named.record.to) - log_worth(named.record.incumbent);
    changes.push_back({.record = std::move(named), .model_gain = gain});
  }
  return changes;
}

std::optional<JobSetting> RecommendedBy(const api::TuningStatus& status) {
  if (!status.recommended_servers) return std::nullopt;
  return JobSetting{*status.recommended_servers,          status.recommended_workers.value_or(0),
                    status.recommended_threads,           status.recommended_slack,
                    status.recommended_worker_millicores, status.recommended_server_millicores};
}

bool IsOver(const api::TuningStatus& status) { return status.stage == "Finished" || status.stage == "Unavailable"; }

}  // namespace

StatusOr<SimulationResult> Simulate(const SimulationPlan& plan) {
  ASSIGN_OR_RETURN(const Choice choice, Choice::Of(plan));
  SimulatedJob job(plan);
  controller::TuningLoop loop;
  tuner::PriorCache priors;
  controller::TuningOutput output;
  const auto window = static_cast<double>(plan.job.policy.window_seconds);
  double cost = choice.Price(job.actual()) * job.seconds();
  const auto pay_since = [&](double begin, double price) { cost += (job.seconds() - begin) * price; };
  for (int looks = 0; looks < kLooksMax && !job.has_ended() && !IsOver(output.status); ++looks) {
    output = loop.Step(job.Look(), priors);
    if (output.change) job.Change(*output.change);
    const double begin = job.seconds(), price = choice.Price(job.actual());
    job.Train(std::clamp(output.look_again, 0.1, window));
    pay_since(begin, price);
  }
  const double begin = job.seconds();
  job.Finish();
  pay_since(begin, choice.Price(job.actual()));

  SimulationResult result;
  result.changes = ChangesOf(plan, choice, output.state);
  result.tuned = {.setting = choice.Shown(job.actual()),
                  .seconds = job.seconds(),
                  .cost = cost,
                  .reached = job.has_reached_goal(),
                  .fraction = job.fraction()};
  result.untouched = Stay(plan, plan.job.wanted, choice.Price(plan.job.wanted));
  result.untouched.setting = choice.Shown(plan.job.wanted);
  result.best = BestStatic(plan, choice);
  result.recommended = RecommendedBy(output.status);
  result.settings = choice.space().size();
  result.knobs = choice.space().description().knobs;
  result.stage = output.status.stage;
  result.message = output.status.message;
  return result;
}

}  // namespace attune::cli
