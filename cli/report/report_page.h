// RunHistory -> one HTML page with everything inside: no script, no style sheet, nothing from the network. Pure.
#pragma once

#include <string>

#include "cli/runs/run_history.h"

namespace attune::cli {

std::string ReportPage(const RunHistory& history);

}  // namespace attune::cli
