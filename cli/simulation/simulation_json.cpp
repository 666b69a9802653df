#include "cli/display/explanation.h"
#include "cli/simulation/simulation_text.h"

namespace attune::cli {
namespace {

using kube::Json;

Json ToJson(const controller::JobSetting& setting) {
  Json object = {{"servers", setting.servers}, {"workers", setting.workers}};
  if (setting.threads) object["threads"] = *setting.threads;
  if (setting.slack) object["slack"] = *setting.slack;
  if (setting.worker_millicores) object["workerMillicores"] = *setting.worker_millicores;
  if (setting.server_millicores) object["serverMillicores"] = *setting.server_millicores;
  return object;
}

Json ToJson(const SimulatedCourse& course) {
  return {{"setting", ToJson(course.setting)},
          {"seconds", course.seconds},
          {"cost", course.cost},
          {"goalReached", course.reached},
          {"fraction", course.fraction}};
}

Json ToJson(const JobModel& model) {
  return {{"samplesPerSecond", model.samples_per_second},
          {"samplesPerStep", model.samples_per_step},
          {"memoryBound", model.memory_bound},
          {"serverShare", model.server_share},
          {"linkShare", model.link_share},
          {"noise", model.noise},
          {"machineCores", model.machine_cores},
          {"stalenessCost", model.staleness_cost},
          {"podStartSeconds", model.pod_start_seconds}};
}

// As `attune explain` has it, and what is true of the model.
Json ToJson(const SimulatedChange& change) {
  Json object = DecisionJson(change.record);
  object["change"] = ChangeText(change.record);
  object["modelGain"] = {{"log", change.model_gain}};
  return object;
}

}  // namespace

Json SimulationJson(const PlannedSimulation& planned, const SimulationResult& result) {
  Json object = {{"job", planned.job},
                 {"isModel", true},
                 {"mode", ToString(planned.plan.job.policy.mode)},
                 {"seed", planned.plan.seed},
                 {"model", ToJson(planned.plan.model)},
                 {"totalSteps", planned.plan.total_steps},
                 {"stage", result.stage},
                 {"message", result.message},
                 {"settings", result.settings},
                 {"assumptions", Json::array()},
                 {"decisions", Json::array()},
                 {"tuned", ToJson(result.tuned)},
                 {"untouched", ToJson(result.untouched)},
                 {"best", ToJson(result.best)}};
  for (const Assumption& each : planned.assumptions)
    object["assumptions"].push_back({{"name", each.name}, {"value", each.value}, {"from", each.source}});
  for (const SimulatedChange& change : result.changes) object["decisions"].push_back(ToJson(change));
  if (result.recommended) object["recommendation"] = ToJson(*result.recommended);
  return object;
}

}  // namespace attune::cli
