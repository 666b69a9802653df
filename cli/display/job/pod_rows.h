// The pods of a job as rows of its display: all of them, or the worst where there is no room for all.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/display/screen.h"
#include "cli/runs/job_view.h"

namespace attune::cli {

// At most `room` lines, the empty one before them included; none in fewer than three.
void AddPods(const JobView& view, const Screen& screen, size_t room, std::vector<std::string>& lines);

}  // namespace attune::cli
