// What the display of a job shows, for programs: `attune run -o json`.
#pragma once

#include <string>

#include "cli/runs/job_view.h"

namespace attune::cli {

// Without line breaks.
std::string RenderJson(const JobView& view, double now);

}  // namespace attune::cli
