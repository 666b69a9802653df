// The table of `attune policy list`: a policy in a line. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/display/table.h"
#include "operator/api/policy/policy.h"
#include "operator/kube/object.h"

namespace attune::cli {

Table PolicyTable(const std::vector<kube::Json>& policies, double now);
// What is wrong with policies, by their status or by what can be seen here, a line each.
std::vector<std::string> PolicyComplaints(const std::vector<kube::Json>& policies);

// "priority=low in namespaces tier=research", "all jobs".
std::string SelectsText(const api::Policy& policy);
// "mode Recommend, InPlaceOnly; workers <= 16, slack fixed; 2 limits; 1 window"; "none" without any rule.
std::string RulesText(const api::PolicySpec& spec);

}  // namespace attune::cli
