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

// Gains as `attune explain` writes them.
Json ToJson(const tuner::Gain& gain) { return {{"log", gain.mean}, {"deviation", gain.deviation}}; }

Json ToJson(const SimulatedChange& change) {
  const tuner::DecisionRecord& record = change.record.record;
  const auto setting = [&](const tuner::Setting& values) {
    Json object;
    for (size_t k = 0; k < change.record.knobs.size(); ++k) object[change.record.knobs[k]] = values[k];
    return object;
  };
  Json object = {{"number", record.number},
                 {"elapsedSeconds", record.time},
                 {"kind", tuner::Name(record.kind)},
                 {"from", setting(record.from)},
                 {"to", setting(record.to)},
                 {"change", ChangeText(change.record)},
                 {"why", record.why},
                 {"predictedGain", ToJson(record.predicted)},
                 {"modelGain", {{"log", change.model_gain}}},
                 {"costSeconds", record.cost_seconds},
                 {"verdict", tuner::Name(record.verdict)}};
  if (record.measured) object["measuredGain"] = ToJson(*record.measured);
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
