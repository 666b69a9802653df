// What programs reported, in a manifest's JSON. As in table_spec_json.h, the functions that read throw the JSON
// library's exceptions and std::invalid_argument, and manifest.cpp is the only caller.
#pragma once

#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "ps/core/protocol/cut_record.h"

namespace attune::ps {

nlohmann::json PutMetrics(const std::vector<MetricState>& metrics);
std::vector<MetricState> GetMetrics(const nlohmann::json& from);

nlohmann::json PutBest(const BestCheckpoint& best);
BestCheckpoint GetBest(const nlohmann::json& from);

}  // namespace attune::ps
