// `attune run` against a cluster: applies the jobs and follows them; they belong to the cluster from then on.
#pragma once

#include <vector>

#include "cli/arguments.h"
#include "operator/kube/object.h"

namespace attune::cli {

int RunOnCluster(std::vector<kube::Json> jobs, const RunArguments& arguments, const Target& target);

}  // namespace attune::cli
