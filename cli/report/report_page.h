// RunHistory -> one HTML page with everything inside: no script, no style sheet, nothing from the network. Pure.
#pragma once

#include <string>

#include "cli/runs/run_history.h"

namespace attune::cli {

std::string ReportPage(const RunHistory& history);
// What lies in the body of that page, for one whose head stays while this is replaced (cli/dashboard). Its style is
// PageStyle() of every choice that there may be.
std::string ReportPart(const RunHistory& history);

}  // namespace attune::cli
