// spec.runPolicy.podFailurePolicy.rules in manifests: what is checked, read, written and stated in the CRD. Internal to
// operator/api.
#pragma once

#include <string>
#include <vector>

#include "operator/api/failure/failure_policy.h"
#include "operator/api/training_job.h"

namespace attune::api {

inline constexpr size_t kFailureRulesMax = 20, kFailureValuesMax = 255;  // as in batch/v1

// Names in the order of the enumerators.
inline std::vector<std::string> Names(FailureAction) { return {"FailJob", "Ignore", "Restart"}; }
inline std::vector<std::string> Names(FailureRole) { return {"Server", "Worker"}; }

// Adds a problem for everything in `list` that is not as it should be.
void CheckFailureRules(const Json& list, const std::string& path, std::vector<FieldProblem>& problems);
// Of a list without problems.
std::vector<FailureRule> ReadFailureRules(const Json& list);
Json WriteFailureRules(const std::vector<FailureRule>& rules);
Json FailureRulesSchema(const std::string& description);

// "SIGKILL"; "" for a number that has no name.
std::string SignalName(int number);

}  // namespace attune::api
