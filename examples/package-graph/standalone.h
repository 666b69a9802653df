// The same training in one process, without servers: what the platform's cost is measured against.
#pragma once

#include "base/status.h"
#include "examples/package-graph/flags.h"

namespace attune::package_graph {

Status RunStandalone(const Flags& flags);

}  // namespace attune::package_graph
