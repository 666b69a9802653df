// JobView -> text. Pure: the same values give the same lines; time and width are arguments.
#pragma once

#include <string>
#include <vector>

#include "cli/display/screen.h"
#include "cli/runs/job_view.h"

namespace attune::cli {

// The live display. Every line fits the width, all lines together fit the height (one row is left for the cursor).
std::vector<std::string> Render(const JobView& view, const Screen& screen, double now);
// One line for logs: "12:00:05 word2vec Running 42% epoch 1/1 loss 3.117 181k words/s remaining 1m20s".
std::string RenderPlain(const JobView& view, double now);

}  // namespace attune::cli
