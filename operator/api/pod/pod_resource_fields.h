// Resources of a container: their names, their amounts, and that requests stay within limits. Internal to this room.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/api/training_job.h"

namespace attune::api {

// Of a quantity; absent for what is none, and below 0.
std::optional<double> ResourceAmount(const Json& value);
// The names in requests or limits, which is at `path`.
void CheckResourceNames(const Json& map, const std::string& path, std::vector<FieldProblem>& problems);
void CheckRequestsWithinLimits(const Json& resources, const std::string& path, std::vector<FieldProblem>& problems);

}  // namespace attune::api
