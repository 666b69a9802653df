// The table of what happened during a run, below its curves. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/report/report_marks.h"
#include "cli/report/report_settings.h"

namespace attune::cli {

// "" without marks. `start`: of the run, seconds since 1970.
std::string EventsSection(const std::vector<EventMark>& marks, const RunSettings& settings, double start);

}  // namespace attune::cli
