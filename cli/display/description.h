// The story of a job as text: what is wanted, how far it is, conditions, pods, events. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/runs/jobs.h"

namespace attune::cli {

std::string DescriptionText(const kube::Json& job, const std::vector<kube::Json>& pods,
                            const std::vector<JobEvent>& events, double now);

}  // namespace attune::cli
