// Jobs, reports and decisions of the tuner as JSON: the words of `attune tuner --jsonl` and of the saved state.
// docs/tuner.md and docs/reference/tuner.schema.json describe them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "operator/tuner/tuner.h"

namespace attune::tuner {

// {"space": {...}, "goal": {...}, "costs": {...}, "window_s": .., "mode": .., "current": {...}, "seed": ..}. Unknown
// fields are passed over; errors name the field, what was found and what is allowed.
StatusOr<JobDescription> JobFromJson(const nlohmann::ordered_json& json);
nlohmann::ordered_json ToJson(const JobDescription& job);

StatusOr<Report> ReportFromJson(const nlohmann::ordered_json& json, const SearchSpace& space);
nlohmann::ordered_json ToJson(const Decision& decision, const SearchSpace& space);

// {"servers": 2, ...} <-> a setting of the space; every knob must be there.
StatusOr<Setting> SettingFromJson(const nlohmann::ordered_json& json, const std::vector<KnobRange>& knobs);
nlohmann::ordered_json ToJson(const Setting& setting, const SearchSpace& space);

}  // namespace attune::tuner
