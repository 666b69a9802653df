#include "operator/tuner/records/record_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace attune::tuner {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const Setting& setting, const std::vector<std::string>& knobs) {
  Json json = Json::object();
  for (size_t k = 0; k < knobs.size() && k < setting.size(); ++k) json[knobs[k]] = setting[k];
  return json;
}

Json ToJson(const Gain& gain) { return {{"mean", gain.mean}, {"deviation", gain.deviation}}; }
Gain GainFromJson(const Json& json) { return {json.at("mean").get<double>(), json.at("deviation").get<double>()}; }

// Throws what the library throws.
NamedRecord Read(const Json& json) {
  NamedRecord named;
  for (const auto& [knob, value] : json.at("to").items()) named.knobs.push_back(knob);
  const auto setting = [&](const char* name) {
    Setting values;
    for (const std::string& knob : named.knobs) values.push_back(json.at(name).at(knob).get<int>());
    return values;
  };
  named.record = {.number = json.at("number").get<uint64_t>(),
                  .time = json.at("time").get<double>(),
                  .kind = json.at("kind") == "trial" ? DecisionKind::kTrial : DecisionKind::kKeep,
                  .from = setting("from"),
                  .to = setting("to"),
                  .incumbent = setting("incumbent"),
                  .why = json.at("why").get<std::string>(),
                  .predicted = GainFromJson(json.at("predicted")),
                  .cost_seconds = json.at("cost_s").get<double>()};
  const Json& horizon = json.at("horizon_s");
  named.record.horizon_seconds = horizon.is_number() ? horizon.get<double>() : std::numeric_limits<double>::infinity();
  if (json.at("measured").is_object()) named.record.measured = GainFromJson(json.at("measured"));
  named.record.windows = json.at("windows").get<double>();
  named.record.verdict = ParseVerdict(json.at("outcome").get<std::string>()).value_or(Verdict::kKept);
  return named;
}

}  // namespace

Json ToJson(const NamedRecord& named) {
  const DecisionRecord& record = named.record;
  return {{"number", record.number},
          {"time", record.time},
          {"kind", Name(record.kind)},
          {"from", ToJson(record.from, named.knobs)},
          {"to", ToJson(record.to, named.knobs)},
          {"incumbent", ToJson(record.incumbent, named.knobs)},
          {"why", record.why},
          {"predicted", ToJson(record.predicted)},
          {"measured", record.measured ? ToJson(*record.measured) : Json(nullptr)},
          {"cost_s", record.cost_seconds},
          {"horizon_s", std::isfinite(record.horizon_seconds) ? Json(record.horizon_seconds) : Json(nullptr)},
          {"windows", record.windows},
          {"outcome", Name(record.verdict)}};
}

Json ToJson(const DecisionRecord& record, const SearchSpace& space) {
  const NamedRecord named = WithNames(record, space);
  Json json = ToJson(named);
  json["text"] = Explain(named);
  return json;
}

StatusOr<NamedRecord> RecordFromJson(const Json& json) {
  try {
    return Read(json);
  } catch (const Json::exception& error) {
    return Error(StatusCode::kInvalidArgument, std::string("a decision cannot be read: ") + error.what());
  }
}

}  // namespace attune::tuner
