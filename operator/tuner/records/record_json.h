// Decision records as JSON: in the answer to "explain", in a tuner's saved state, and in what outlives the tuner.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "operator/tuner/records/decision_record.h"

namespace attune::tuner {

nlohmann::ordered_json ToJson(const NamedRecord& named);  // without the text
nlohmann::ordered_json ToJson(const DecisionRecord& record, const SearchSpace& space);

// The knobs are those of the field "to". InvalidArgument when a field is missing or a setting lacks a knob.
StatusOr<NamedRecord> RecordFromJson(const nlohmann::ordered_json& json);

}  // namespace attune::tuner
