// What the operator has chosen for a job without writing it into the job's spec (spec.tuning.writeTo): status.settings.
// The spec then stays what its owner, for instance a GitOps controller, says. A choice counts for as long as the spec
// says at its field what it said when the choice was made, and does not pin it (spec.tuning.*.pinned): a change of the
// spec always counts.
#pragma once

#include <string>
#include <vector>

#include "operator/api/training_job.h"

namespace attune::api {

// The choices of `job`, an object as the API server has it, that count now.
std::vector<ChosenSetting> ChosenInForce(const Json& job);

// The same after all that `spec`, a merge patch of the spec, sets has been chosen as well. A choice that the spec makes
// itself is none; what `spec` sets besides the fields that can be chosen is left out.
std::vector<ChosenSetting> ChosenAfter(const Json& job, const Json& spec);

// What a merge patch of the spec changes to say the same.
Json SpecPatchOf(const std::vector<ChosenSetting>& chosen);

// `job` with its choices written into its spec, for parsing. A choice with which the spec would break a rule, because
// its owner has narrowed a range since, does not count: `chosen` of the result has those that do.
ParsedJob ParseInForce(const Json& job);

// status.settings; an empty list is written, so that nothing of an earlier one is left.
Json ToJson(const std::vector<ChosenSetting>& chosen);
std::vector<ChosenSetting> ReadChosenSettings(const Json& list);

// "workers 4 instead of 2, synchronization BSP instead of Async".
std::string ToString(const std::vector<ChosenSetting>& chosen);

}  // namespace attune::api
