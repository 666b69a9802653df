// The few rules this system has for pod templates. Everything else in them is between the user and Kubernetes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "operator/api/training_job.h"

namespace attune::api {

// `value` is the template at `path`; `role` the name one of its containers must have.
void CheckPodTemplate(const Json& value, const std::string& path, std::string_view role,
                      std::vector<FieldProblem>& problems);

// "nothing", "\"abc\"", "a mapping": what a message says was found.
std::string FoundText(const Json& value);

}  // namespace attune::api
