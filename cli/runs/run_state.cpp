#include "cli/runs/run_state.h"

#include <algorithm>

namespace attune::cli {
namespace {

using kube::Json;

constexpr int kStateFormat = 1;
constexpr size_t kKeptPodsMax = 10'000;

std::vector<Json> ObjectsAt(const Json& object, const char* key, size_t most) {
  std::vector<Json> objects;
  const Json& list = kube::At(object, {key});
  for (size_t i = 0; list.is_array() && i < std::min(list.size(), most); ++i) {
    if (list[i].is_object()) objects.push_back(list[i]);
  }
  return objects;
}

void SettlePod(Json& pod) {
  Json& status = pod["status"];
  if (!status.is_object()) status = Json::object();
  const auto phase = kube::StringAt(status, {"phase"});
  if (phase != "Succeeded" && phase != "Failed") status["phase"] = "Ended";
  status.erase("conditions");
}

}  // namespace

std::string SaveState(RunState state) {
  kube::DropManagedFields(state.job);
  for (Json& pod : state.pods) kube::DropManagedFields(pod);
  for (Json& event : state.events) kube::DropManagedFields(event);
  if (state.events.size() > RunState::kEventsMax)
    state.events.erase(state.events.begin(), state.events.end() - RunState::kEventsMax);
  kube::DropManagedFields(state.tuning_record);
  Json object = {{"format", kStateFormat}, {"job", state.job}, {"pods", state.pods}, {"events", state.events}};
  if (state.tuning_record.is_object()) object["tuningRecord"] = std::move(state.tuning_record);
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

StatusOr<RunState> LoadState(const std::string& text) {
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || kube::IntegerAt(object, {"format"}) != kStateFormat ||
      !kube::At(object, {"job"}).is_object())
    return Error(StatusCode::kInvalidArgument, "this is no state of a job that this version of attune can read");
  return RunState{object["job"], ObjectsAt(object, "pods", kKeptPodsMax),
                  ObjectsAt(object, "events", RunState::kEventsMax), kube::At(object, {"tuningRecord"})};
}

std::string StateFile(const std::string& job) { return "state-" + job + ".json"; }

RunState Settled(RunState state, RunOutcome outcome) {
  for (Json& pod : state.pods) SettlePod(pod);
  Json& status = state.job["status"];
  if (!status.is_object()) status = Json::object();
  for (const char* role : {"servers", "workers"}) {
    if (status.contains(role) && status[role].is_object()) status[role]["ready"] = 0;
  }
  if (outcome == RunOutcome::kSucceeded || outcome == RunOutcome::kFailed) return state;
  status["phase"] = ToString(outcome);
  state.job["metadata"].erase("deletionTimestamp");
  if (status.contains("conditions") && status["conditions"].is_array()) {
    for (Json& condition : status["conditions"]) {
      if (!condition.is_object() || kube::StringAt(condition, {"status"}) != "True") continue;
      condition["status"] = "Unknown";  // it was so when the run ended
      condition["message"] = "the run has ended; before: " + std::string(kube::StringAt(condition, {"message"}));
    }
  }
  if (status.contains("progress") && status["progress"].is_object()) {
    for (const char* field : {"remainingSeconds", "slowestWorker", "movingBytesLeft", "movingRowsPerSecond"})
      status["progress"].erase(field);
  }
  return state;
}

}  // namespace attune::cli
