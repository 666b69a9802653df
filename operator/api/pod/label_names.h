// Names and values of labels and annotations in the forms that Kubernetes takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "operator/api/training_job.h"

namespace attune::api {

bool IsLabelValue(std::string_view text);
// "name" or "domain/name".
bool IsQualifiedName(std::string_view text);

// Names of labels or annotations, and with `values` the values of labels, as the API server takes them.
void CheckNamesAndValues(const Json& map, const std::string& path, bool values, std::vector<FieldProblem>& problems);

}  // namespace attune::api
