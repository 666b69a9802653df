// The command line of `attune move`.
#pragma once

#include "cli/arguments.h"

namespace CLI {
class App;
}

namespace attune::cli {

// `values` outlives `app`.
void AddMove(CLI::App& app, MoveArguments& values);

}  // namespace attune::cli
