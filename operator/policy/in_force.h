// From objects as an API server keeps them to what is in force for a job: one path for the operator, which acts by it,
// and for `attune policy`, which shows it. Pure.
#pragma once

#include <optional>
#include <vector>

#include "operator/kube/object.h"
#include "operator/policy/resolve.h"

namespace attune::policy {

// Of any object; entries that are no strings are left out.
api::Labels LabelsOf(const kube::Json& object);

// What policies ask of the job `object`. `tuning` is what was parsed from it; who only asks which policies select the
// job may leave it out. Without `namespace_labels` they are not readable.
JobFacts FactsOf(const kube::Json& object, const std::optional<api::Labels>& namespace_labels, api::Tuning tuning = {});

// Nothing when none of the policies selects the job.
std::optional<Effective> InForce(const JobFacts& job, std::vector<api::Policy> policies, WallTime now);

}  // namespace attune::policy
