// Rules between fields.
#include "operator/api/field_binding.h"

namespace attune::api {
namespace {

void AddRoleRules(std::vector<FieldRule>& rules, const std::string& path, Role TrainingJobSpec::*member) {
  rules.push_back({path,
                   "self.min <= self.max",
                   path + ": min is above max; raise max or lower min",
                   ".min",
                   {"min", "max"},
                   [=](const TrainingJob& job, std::vector<FieldProblem>& problems) {
                     const Role& role = job.spec.*member;
                     if (role.min <= role.max) return;
                     problems.push_back({path + ".min", std::to_string(role.min),
                                         "at most " + path + ".max (" + std::to_string(role.max) + ")"});
                   }});
  rules.push_back({path,
                   "self.replicas >= self.min && self.replicas <= self.max",
                   path + ": replicas lies outside min and max; change replicas, or widen min and max",
                   ".replicas",
                   {"replicas", "min", "max"},
                   [=](const TrainingJob& job, std::vector<FieldProblem>& problems) {
                     const Role& role = job.spec.*member;
                     if (role.min > role.max || (role.min <= role.replicas && role.replicas <= role.max)) return;
                     problems.push_back({path + ".replicas", std::to_string(role.replicas),
                                         "from " + path + ".min (" + std::to_string(role.min) + ") to " + path +
                                             ".max (" + std::to_string(role.max) + ")"});
                   }});
}

// `self.name`, which may be a string or a whole number, as a quantity of the API server's.
std::string CelQuantity(const std::string& name) {
  return "(type(self." + name + ") == int ? quantity('0').add(self." + name + ") : quantity(self." + name + "))";
}

// Where both are there, the first is at most the second.
std::string CelAtMost(const std::string& least, const std::string& greatest) {
  return "!has(self." + least + ") || !has(self." + greatest + ") || " + CelQuantity(least) + ".compareTo(" +
         CelQuantity(greatest) + ") <= 0";
}

// The bounds of an amount, and one figure that is to lie between them.
struct Amounts {
  std::optional<int64_t> min, max, figure;
};

// `amounts_of` gives the Amounts of a job's spec; `figure` is the name of the third.
template <class AmountsOf>
void AddAmountRules(std::vector<FieldRule>& rules, const std::string& path, Unit unit, const std::string& figure,
                    AmountsOf amounts_of) {
  const std::vector<std::string> members = {"min", "max", figure};
  const int64_t least = unit == Unit::kMillicores ? kMillicoresMin : kMemoryMin;
  const std::string least_text = QuantityText(least, unit);
  std::string none_below;
  for (const std::string& name : members) {
    none_below += (none_below.empty() ? "(" : " && (") + ("!has(self." + name + ") || " + CelQuantity(name)) +
                  ".compareTo(quantity('" + least_text + "')) >= 0)";
  }
  rules.push_back(
      {path, none_below, path + ": no figure may be below " + least_text, "", members,
       [=](const TrainingJob& job, std::vector<FieldProblem>& problems) {
         const Amounts own = amounts_of(job.spec);
         const std::optional<int64_t> figures[] = {own.min, own.max, own.figure};
         for (size_t i = 0; i < members.size(); ++i) {
           if (!figures[i] || *figures[i] >= least) continue;
           problems.push_back({path + "." + members[i], QuantityText(*figures[i], unit), "at least " + least_text});
         }
       }});
  rules.push_back({path,
                   CelAtMost("min", "max"),
                   path + ": min is above max; raise max or lower min",
                   ".min",
                   {"min", "max"},
                   [=](const TrainingJob& job, std::vector<FieldProblem>& problems) {
                     const Amounts own = amounts_of(job.spec);
                     if (!own.min || !own.max || *own.min <= *own.max) return;
                     problems.push_back({path + ".min", QuantityText(*own.min, unit),
                                         "at most " + path + ".max (" + QuantityText(*own.max, unit) + ")"});
                   }});
  rules.push_back({path, "(" + CelAtMost("min", figure) + ") && (" + CelAtMost(figure, "max") + ")",
                   path + ": " + figure + " lies outside min and max; change " + figure + ", or widen min and max",
                   "." + figure, members, [=](const TrainingJob& job, std::vector<FieldProblem>& problems) {
                     const Amounts own = amounts_of(job.spec);
                     if (!own.figure || (own.min && own.max && *own.min > *own.max)) return;
                     const std::string found = QuantityText(*own.figure, unit);
                     if (own.min && *own.figure < *own.min) {
                       problems.push_back({path + "." + figure, found,
                                           "at least " + path + ".min (" + QuantityText(*own.min, unit) + ")"});
                     }
                     if (own.max && *own.figure > *own.max) {
                       problems.push_back({path + "." + figure, found,
                                           "at most " + path + ".max (" + QuantityText(*own.max, unit) + ")"});
                     }
                   }});
}

void AddResourcesRules(std::vector<FieldRule>& rules, const std::string& path, Role TrainingJobSpec::*member) {
  const auto add = [&](const char* name, Unit unit, ResourceTarget RoleResources::*resource) {
    AddAmountRules(rules, path + ".resources." + name, unit, "target", [=](const TrainingJobSpec& spec) -> Amounts {
      const ResourceTarget& own = (spec.*member).resources.*resource;
      return {own.min, own.max, own.target};
    });
  };
  add("cpu", Unit::kMillicores, &RoleResources::cpu);
  add("memory", Unit::kBytes, &RoleResources::memory);
}

void AddSynchronizationRules(std::vector<FieldRule>& rules) {
  rules.push_back(
      {"spec.synchronization",
       "self.mode != 'SSP' || has(self.staleness)",
       "spec.synchronization: mode SSP needs staleness, the steps a worker may be ahead of the slowest; add "
       "it, for example staleness: 4",
       ".staleness",
       {"mode", "staleness"},
       [](const TrainingJob& job, std::vector<FieldProblem>& problems) {
         const Synchronization& own = job.spec.synchronization;
         if (own.mode != Synchronization::Mode::kSsp || own.staleness) return;
         problems.push_back({"spec.synchronization.staleness", "nothing",
                             "with mode SSP a whole number from 1 to " + std::to_string(kSlackMax) +
                                 ": the steps a worker may be ahead of the slowest"});
       }});
  rules.push_back({"spec.synchronization",
                   "self.mode == 'SSP' || !has(self.staleness)",
                   "spec.synchronization: staleness belongs to mode SSP only; remove it, or set mode to SSP",
                   ".staleness",
                   {"mode", "staleness"},
                   [](const TrainingJob& job, std::vector<FieldProblem>& problems) {
                     const Synchronization& own = job.spec.synchronization;
                     if (own.mode == Synchronization::Mode::kSsp || !own.staleness) return;
                     problems.push_back(
                         {"spec.synchronization.staleness", std::to_string(*own.staleness),
                          "nothing with mode " + Describe(FromManifest(own)) + "; it belongs to mode SSP"});
                   }});
}

void AddTuningRules(std::vector<FieldRule>& rules, const std::string& path, KnobPolicy Tuning::*member) {
  rules.push_back({path,
                   "!has(self.min) || !has(self.max) || self.min <= self.max",
                   path + ": min is above max; raise max or lower min",
                   ".min",
                   {"min", "max"},
                   [=](const TrainingJob& job, std::vector<FieldProblem>& problems) {
                     const KnobPolicy& knob = job.spec.tuning.*member;
                     if (!knob.min || !knob.max || *knob.min <= *knob.max) return;
                     problems.push_back({path + ".min", std::to_string(*knob.min),
                                         "at most " + path + ".max (" + std::to_string(*knob.max) + ")"});
                   }});
}

void AddCpuRules(std::vector<FieldRule>& rules, const std::string& path, AmountPolicy Tuning::*member) {
  AddAmountRules(rules, path, Unit::kMillicores, "pinned", [=](const TrainingJobSpec& spec) -> Amounts {
    const AmountPolicy& own = spec.tuning.*member;
    return {own.min, own.max, own.pinned};
  });
}

void AddObjectiveRules(std::vector<FieldRule>& rules) {
  const std::string path = "spec.tuning.objective";
  rules.push_back({path,
                   "!has(self.kind) || self.kind != 'TimeUnderBudget' || has(self.budget)",
                   path + ": kind TimeUnderBudget needs budget, what the whole job may cost",
                   ".budget",
                   {"kind", "budget"},
                   [=](const TrainingJob& job, std::vector<FieldProblem>& problems) {
                     const TuningObjective& own = job.spec.tuning.objective;
                     if (own.kind != ObjectiveKind::kTimeUnderBudget || own.budget) return;
                     problems.push_back({path + ".budget", "nothing",
                                         "with kind TimeUnderBudget a number above 0: what the whole job may cost"});
                   }});
  rules.push_back({path,
                   "!has(self.budget) || self.budget > 0.0",
                   path + ".budget must be above 0",
                   ".budget",
                   {"budget"},
                   [=](const TrainingJob& job, std::vector<FieldProblem>& problems) {
                     const auto& budget = job.spec.tuning.objective.budget;
                     if (!budget || *budget > 0) return;
                     problems.push_back({path + ".budget", Json(*budget).dump(), "a number above 0"});
                   }});
  rules.push_back({path,
                   "self.coreHour >= 0.0 && self.gibHour >= 0.0 && self.coreHour + self.gibHour > 0.0",
                   path + ": prices must not be negative, and one of coreHour and gibHour must be above 0",
                   ".coreHour",
                   {"coreHour", "gibHour"},
                   [=](const TrainingJob& job, std::vector<FieldProblem>& problems) {
                     const TuningObjective& own = job.spec.tuning.objective;
                     if (own.core_hour >= 0 && own.gib_hour >= 0 && own.core_hour + own.gib_hour > 0) return;
                     problems.push_back({path + ".coreHour", Json(own.core_hour).dump(),
                                         "prices of at least 0, and one of coreHour and gibHour above 0"});
                   }});
}

void AddGoalRules(std::vector<FieldRule>& rules) {
  rules.push_back(
      {"spec.goal",
       "has(self.epochs) || has(self.steps) || has(self.targetLoss) || has(self.maxDurationSeconds) || "
       "has(self.targetMetric) || has(self.earlyStopping)",
       "spec.goal is empty; state at least one of epochs, steps, targetLoss, maxDurationSeconds, targetMetric, "
       "earlyStopping",
       "",
       {"epochs", "steps", "targetLoss", "maxDurationSeconds", "targetMetric", "earlyStopping"},
       [](const TrainingJob& job, std::vector<FieldProblem>& problems) {
         const Goal& goal = job.spec.goal;
         if (goal.epochs || goal.steps || goal.target_loss || goal.max_duration_seconds) return;
         if (!goal.target_metric.name.empty() || !goal.early_stopping.metric.empty()) return;
         problems.push_back({"spec.goal", "no goal",
                             "at least one of epochs, steps, targetLoss, maxDurationSeconds, targetMetric, "
                             "earlyStopping"});
       }});
  rules.push_back(
      {"spec.goal.earlyStopping",
       "self.minDelta >= 0.0",
       "spec.goal.earlyStopping.minDelta is negative; state how much better a value must be, at least 0",
       ".minDelta",
       {"minDelta"},
       [](const TrainingJob& job, std::vector<FieldProblem>& problems) {
         const double delta = job.spec.goal.early_stopping.min_delta;
         if (delta < 0) {
           problems.push_back({"spec.goal.earlyStopping.minDelta", Json(delta).dump(), "a number of at least 0"});
         }
       }});
  rules.push_back(
      {"spec.goal",
       "!has(self.targetMetric) || !has(self.earlyStopping) || self.targetMetric.name != "
       "self.earlyStopping.metric || self.targetMetric.direction == self.earlyStopping.direction",
       "spec.goal: targetMetric and earlyStopping name the same metric with different directions; state the "
       "same direction in both",
       ".earlyStopping",
       {"targetMetric", "earlyStopping"},
       [](const TrainingJob& job, std::vector<FieldProblem>& problems) {
         const TargetMetric& target = job.spec.goal.target_metric;
         const EarlyStopping& stopping = job.spec.goal.early_stopping;
         if (target.name.empty() || target.name != stopping.metric) return;
         if (target.direction == stopping.direction) return;
         problems.push_back({"spec.goal.earlyStopping.direction",
                             Names(Direction{}).at(static_cast<size_t>(stopping.direction)),
                             "that of spec.goal.targetMetric, which names the same metric"});
       }});
}

// One metric has one direction, whichever goal names it.
void AddBestCheckpointRules(std::vector<FieldRule>& rules) {
  rules.push_back(
      {"spec",
       "!has(self.checkpoint.best) || ((!has(self.goal.targetMetric) || self.goal.targetMetric.name != "
       "self.checkpoint.best.metric || self.goal.targetMetric.direction == self.checkpoint.best.direction) && "
       "(!has(self.goal.earlyStopping) || self.goal.earlyStopping.metric != self.checkpoint.best.metric || "
       "self.goal.earlyStopping.direction == self.checkpoint.best.direction))",
       "spec.checkpoint.best names the same metric as spec.goal with another direction; state the same direction in "
       "both",
       ".checkpoint.best",
       {"goal", "checkpoint"},
       [](const TrainingJob& job, std::vector<FieldProblem>& problems) {
         const BestCheckpointRule& best = job.spec.checkpoint.best;
         const TargetMetric& target = job.spec.goal.target_metric;
         const EarlyStopping& stopping = job.spec.goal.early_stopping;
         if (best.metric.empty()) return;
         const bool of_target = best.metric == target.name && best.direction != target.direction;
         const bool of_stopping = best.metric == stopping.metric && best.direction != stopping.direction;
         if (!of_target && !of_stopping) return;
         problems.push_back({"spec.checkpoint.best.direction",
                             Names(Direction{}).at(static_cast<size_t>(best.direction)),
                             std::string("that of spec.goal.") + (of_target ? "targetMetric" : "earlyStopping") +
                                 ", which names the same metric"});
       }});
}

}  // namespace

std::vector<FieldRule> MakeRules() {
  std::vector<FieldRule> rules;
  AddGoalRules(rules);
  AddBestCheckpointRules(rules);
  AddRoleRules(rules, "spec.servers", &TrainingJobSpec::servers);
  AddRoleRules(rules, "spec.workers", &TrainingJobSpec::workers);
  AddResourcesRules(rules, "spec.servers", &TrainingJobSpec::servers);
  AddResourcesRules(rules, "spec.workers", &TrainingJobSpec::workers);
  AddSynchronizationRules(rules);
  rules.push_back({"spec.servers",
                   "self.backups == 0 || self.replicas >= 2",
                   "spec.servers: a backup lives on another server than its row, so backups: 1 needs at least 2 "
                   "servers; raise replicas to 2, or set backups to 0",
                   ".backups",
                   {"backups", "replicas", "min", "max"},
                   [](const TrainingJob& job, std::vector<FieldProblem>& problems) {
                     if (job.spec.backups == 0 || job.spec.servers.replicas >= 2) return;
                     problems.push_back({"spec.servers.backups", std::to_string(job.spec.backups),
                                         "0 with one server; 1 needs spec.servers.replicas of at least 2, because a "
                                         "backup lives on another server than its row"});
                   }});
  rules.push_back({"spec.servers",
                   "self.backups == oldSelf.backups",
                   "spec.servers.backups cannot change while the job exists; delete the job and apply it again",
                   ".backups",
                   {},
                   nullptr});
  rules.push_back({"spec",
                   "has(self.managedBy) == has(oldSelf.managedBy) && "
                   "(!has(self.managedBy) || self.managedBy == oldSelf.managedBy)",
                   "spec.managedBy cannot change while the job exists, because two controllers would have it in hand; "
                   "delete the job and apply it again",
                   ".managedBy",
                   {},
                   nullptr});
  AddTuningRules(rules, "spec.tuning.servers", &Tuning::servers);
  AddTuningRules(rules, "spec.tuning.workers", &Tuning::workers);
  AddTuningRules(rules, "spec.tuning.threads", &Tuning::threads);
  AddTuningRules(rules, "spec.tuning.slack", &Tuning::slack);
  AddCpuRules(rules, "spec.tuning.workerCpu", &Tuning::worker_cpu);
  AddCpuRules(rules, "spec.tuning.serverCpu", &Tuning::server_cpu);
  AddObjectiveRules(rules);
  rules.push_back({"spec.security",
                   "self == oldSelf",
                   "spec.security cannot change while the job exists, because its processes must agree; delete the job "
                   "and apply it again",
                   "",
                   {},
                   nullptr});
  return rules;
}

}  // namespace attune::api
