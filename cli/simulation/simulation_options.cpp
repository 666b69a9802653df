#include "cli/simulation/simulation_options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "cli/requests/tune_request.h"
#include "operator/api/format.h"
#include "operator/controller/objects/pod_resources.h"
#include "operator/controller/tuning/tuning_input.h"

namespace attune::cli {
namespace {

constexpr double kSamplesByDefault = 1'000'000;  // per epoch
constexpr uint64_t kEpochsByDefault = 10;        // of a goal that names none
constexpr char kDefault[] = "default";

// An option for a figure of the model, with the range in which it makes sense.
struct FigureOption {
  const char* name;
  std::optional<double> SimulateArguments::*typed;
  double JobModel::*figure;
  double low, high;
};
constexpr FigureOption kFigures[] = {
    {"--samples-per-second", &SimulateArguments::samples_per_second, &JobModel::samples_per_second, 1e-6, 1e12},
    {"--samples-per-step", &SimulateArguments::samples_per_step, &JobModel::samples_per_step, 1e-6, 1e12},
    {"--memory-bound", &SimulateArguments::memory_bound, &JobModel::memory_bound, 0, 1},
    {"--server-share", &SimulateArguments::server_share, &JobModel::server_share, 0, 1000},
    {"--link-share", &SimulateArguments::link_share, &JobModel::link_share, 0, 1000},
    {"--noise", &SimulateArguments::noise, &JobModel::noise, 0, 1},
    {"--staleness-cost", &SimulateArguments::staleness_cost, &JobModel::staleness_cost, 0, 1000},
    {"--machine-cores", &SimulateArguments::machine_cores, &JobModel::machine_cores, 0.01, 1e6},
    {"--pod-start", &SimulateArguments::pod_start, &JobModel::pod_start_seconds, 0.5, 3600}};

// "0.4", "12.5", "250000": as people write them.
std::string NumberText(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

// "12.5 %", "20 %".
std::string Percent(double share) { return NumberText(100 * share) + " %"; }

std::string StepText(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g ms", 1000 * seconds);
  return seconds < 1 ? text.data() : api::FormatSeconds(seconds);
}

std::string UnitOf(const std::optional<RecordedFigures>& recorded) {
  return recorded && !recorded->unit.empty() ? recorded->unit : "samples";
}

// Who says the figure of an option: the option, or its default.
std::string SourceOf(const SimulateArguments& arguments, std::optional<double> SimulateArguments::*typed) {
  for (const FigureOption& option : kFigures) {
    if (option.typed == typed && arguments.*typed) return option.name;
  }
  return kDefault;
}

Status SetFigures(const SimulateArguments& arguments, JobModel& model) {
  for (const FigureOption& option : kFigures) {
    const std::optional<double>& typed = arguments.*option.typed;
    if (!typed) continue;
    if (!(*typed >= option.low && *typed <= option.high)) {
      return Error(StatusCode::kInvalidArgument, std::string(option.name) + " " + NumberText(*typed) +
                                                     ": write a number from " + NumberText(option.low) + " to " +
                                                     NumberText(option.high));
    }
    model.*option.figure = *typed;
  }
  return OkStatus();
}

// Times of the model grow and shrink together, so that one factor makes it as fast as the run was.
void Calibrate(const RecordedFigures& recorded, const SimulateArguments& arguments, SyncMode mode, JobModel& model) {
  if (!arguments.machine_cores && recorded.machine_cores > 0) model.machine_cores = recorded.machine_cores;
  if (!arguments.samples_per_step && recorded.samples_per_step > 0) model.samples_per_step = recorded.samples_per_step;
  if (arguments.samples_per_second) return;
  const double modeled = FiguresAt(model, recorded.setting, mode).steps_per_second * model.samples_per_step;
  model.samples_per_second *= recorded.samples_per_second / modeled;
}

// What there is to train, in samples and in words.
struct Work {
  double steps = 0;
  bool by_items = false;  // the goal counts epochs
  Assumption said;
};

struct Samples {
  double per_epoch = 0;
  std::string source;
};

Samples SamplesOf(const api::TrainingJob& job, const SimulateArguments& arguments, uint64_t epochs,
                  const std::optional<RecordedFigures>& recorded) {
  if (arguments.samples) return {static_cast<double>(*arguments.samples), "--samples"};
  if (job.spec.data.items > 0) return {static_cast<double>(job.spec.data.items), "spec.data.items"};
  if (recorded && recorded->samples > 0)
    return {recorded->samples / static_cast<double>(job.spec.goal.epochs.value_or(epochs)), "run " + recorded->run};
  return {kSamplesByDefault, kDefault};
}

Work WorkOf(const api::TrainingJob& job, const SimulateArguments& arguments, const JobModel& model,
            const std::optional<RecordedFigures>& recorded) {
  const api::Goal& goal = job.spec.goal;
  Work work;
  if (goal.steps && !arguments.epochs && !arguments.samples) {
    work.steps = static_cast<double>(*goal.steps);
    work.said = {"goal", api::FormatCount(work.steps) + " steps of all workers", "spec.goal.steps"};
  } else {
    const uint64_t epochs = arguments.epochs.value_or(goal.epochs.value_or(kEpochsByDefault));
    const Samples samples = SamplesOf(job, arguments, epochs, recorded);
    work.steps = static_cast<double>(epochs) * samples.per_epoch / model.samples_per_step;
    work.by_items = goal.epochs.has_value();
    std::string source = samples.source;
    if (arguments.epochs) {
      source = "--epochs; samples: " + source;
    } else if (goal.epochs) {
      source = "spec.goal.epochs; samples: " + source;
    } else {
      source = std::string(kDefault) + "; samples: " + source;
    }
    work.said = {"goal",
                 std::to_string(epochs) + (epochs == 1 ? " epoch of " : " epochs of ") +
                     api::FormatCount(samples.per_epoch) + " " + UnitOf(recorded) + ": " +
                     api::FormatCount(work.steps) + " steps",
                 source};
  }
  if (goal.target_loss) work.said.value += ", where the loss is " + NumberText(*goal.target_loss);
  if (!goal.target_loss && goal.target_metric.value) {
    work.said.value += ", where " + goal.target_metric.name + " is " + NumberText(*goal.target_metric.value);
  }
  return work;
}

// Of a loss or a metric; steps and epochs are made however stale rows were.
bool IsWorthAQuestion(const api::Goal& goal) { return goal.target_loss || goal.target_metric.value; }

std::vector<Assumption> AssumptionsOf(const SimulationPlan& plan, const SimulateArguments& arguments,
                                      const std::optional<RecordedFigures>& recorded) {
  using A = SimulateArguments;
  const JobModel& model = plan.model;
  const double step = model.StepSeconds();
  const auto source = [&](std::optional<double> A::*typed, bool from_run = false) {
    return from_run && !(arguments.*typed) ? "run " + recorded->run : SourceOf(arguments, typed);
  };
  const std::string unit = UnitOf(recorded);
  std::vector<Assumption> all = {
      {"computing", api::FormatRate(model.samples_per_second, unit) + " on one core of a worker",
       source(&A::samples_per_second, recorded.has_value())},
      {"one step",
       api::FormatCount(model.samples_per_step) + " " + unit + ": " + StepText(step) + " of computing on one core",
       source(&A::samples_per_step, recorded && recorded->samples_per_step > 0)},
      {"memory", Percent(model.memory_bound) + " of the computing waits for memory, whatever the cores",
       source(&A::memory_bound)},
      {"servers", Percent(model.server_share) + " of a step's computing, divided among them", source(&A::server_share)},
      {"messages",
       Percent(model.link_share) + " of a step's computing, and " + Percent(JobModel::kLinkSharePerServer) +
           " for each server",
       source(&A::link_share)},
      {"noise", Percent(model.noise) + " from one window to the next", source(&A::noise)},
      {"cores",
       model.machine_cores > 0 ? NumberText(model.machine_cores) + " for all pods together"
                               : "every pod has those that it wants",
       source(&A::machine_cores, recorded && recorded->machine_cores > 0)},
      {"changes",
       "new pods take part after " + api::FormatSeconds(model.pod_start_seconds) + ", rows move for " +
           api::FormatSeconds(model.relocation_seconds),
       source(&A::pod_start)}};
  if (IsWorthAQuestion(plan.job.goal))
    all.push_back({"stale rows",
                   "an update is worth 1 / (1 + " + NumberText(model.staleness_cost) +
                       " z), made from rows that z others have changed",
                   source(&A::staleness_cost)});
  if (plan.job.threads_max > 0)
    all.push_back({"threads", "the worker's program offers up to " + std::to_string(plan.job.threads_max),
                   arguments.threads ? "--threads" : "manifest"});
  return all;
}

Status SetMode(const SimulateArguments& arguments, api::TrainingJob& job) {
  api::Tuning& tuning = job.spec.tuning;
  if (!arguments.tune.empty()) {
    const auto mode = ParseTuningMode(arguments.tune);
    if (!mode || *mode == api::TuningMode::kOff) {
      return Error(StatusCode::kInvalidArgument,
                   "--tune " + arguments.tune + ": write recommend, initial, inplaceonly or auto");
    }
    tuning.mode = *mode;
    tuning.paused = false;
  }
  if (tuning.mode == api::TuningMode::kOff) {
    return Error(StatusCode::kFailedPrecondition,
                 "job " + job.name +
                     " is not tuned (spec.tuning.mode is Off), so that there is nothing to simulate; "
                     "--tune auto simulates what the tuner would do if it were, and spec.tuning.mode lets it");
  }
  if (!tuning.paused) return OkStatus();
  return Error(StatusCode::kFailedPrecondition,
               "tuning of job " + job.name +
                   " is paused (spec.tuning.paused), so that there is nothing to simulate; "
                   "--tune auto simulates what the tuner would do if it were not");
}

// As `attune run --tune` does on a machine with so many cores.
void BoundByMachine(double cores, api::TrainingJob& job) {
  const auto bound = [&](const api::Role& role, int32_t per_core, api::KnobPolicy& knob) {
    if (!knob.max) knob.max = std::max(role.replicas, static_cast<int32_t>(std::max(1.0, cores) * per_core));
  };
  bound(job.spec.servers, kServersPerCore, job.spec.tuning.servers);
  bound(job.spec.workers, kWorkersPerCore, job.spec.tuning.workers);
}

// As pods of the manifest ask for; of a template that says nothing: nothing.
controller::PodSize SizeOf(const api::TrainingJob& job, controller::RoleName role) {
  constexpr double kGibibyte = 1LL << 30;
  const controller::ContainerFigures stated = controller::StatedFigures(job, role);
  return {.cores = static_cast<double>(stated.cpu.shown().value_or(0)) / 1000,
          .gib = static_cast<double>(stated.memory.shown().value_or(0)) / kGibibyte};
}

int32_t ThreadsOffered(const api::TrainingJob& job, const SimulateArguments& arguments) {
  if (arguments.threads) return static_cast<int32_t>(*arguments.threads);
  return std::max(job.spec.worker_threads.value_or(0), job.spec.tuning.threads.max.value_or(0));
}

}  // namespace

StatusOr<PlannedSimulation> PlanSimulation(const api::TrainingJob& given, const SimulateArguments& arguments,
                                           const std::optional<RecordedFigures>& recorded, uint64_t seed) {
  api::TrainingJob job = given;
  RETURN_IF_ERROR(SetMode(arguments, job));
  PlannedSimulation planned{.plan = {}, .job = job.name, .assumptions = {}};
  SimulationPlan& plan = planned.plan;
  constexpr double kStalenessCost = 0.005;
  if (IsWorthAQuestion(job.spec.goal)) plan.model.staleness_cost = kStalenessCost;
  RETURN_IF_ERROR(SetFigures(arguments, plan.model));
  if (!IsWorthAQuestion(job.spec.goal)) plan.model.staleness_cost = 0;
  if (recorded) Calibrate(*recorded, arguments, api::FromManifest(job.spec.synchronization), plan.model);
  if (!arguments.tune.empty() && plan.model.machine_cores > 0) BoundByMachine(plan.model.machine_cores, job);
  plan.job = controller::InputOfSpec(job);
  plan.job.threads_max = ThreadsOffered(job, arguments);
  if (plan.job.threads_max > 0 && !plan.job.wanted.threads) plan.job.wanted.threads = 1;
  plan.job.elastic_servers = plan.job.switches_modes = true;
  plan.job.server_pod = SizeOf(job, controller::RoleName::kServer);
  plan.job.worker_pod = SizeOf(job, controller::RoleName::kWorker);
  const Work work = WorkOf(job, arguments, plan.model, recorded);
  plan.total_steps = std::max(work.steps, 1.0);
  if (work.by_items) plan.items_per_step = plan.model.samples_per_step;
  plan.seed = arguments.seed.value_or(seed);
  planned.assumptions = AssumptionsOf(plan, arguments, recorded);
  planned.assumptions.push_back(work.said);
  return planned;
}

}  // namespace attune::cli
