// What is said once at the end of a job: what came of it, or why it failed.
#pragma once

#include <string>

#include "cli/display/screen.h"
#include "cli/runs/job_view.h"

namespace attune::cli {

std::string RenderSummary(const JobView& view, const Screen& screen);

}  // namespace attune::cli
