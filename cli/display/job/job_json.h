// What the display of a job shows, for programs: `attune run -o json`.
#pragma once

#include <string>

#include "cli/runs/job_view.h"
#include "operator/kube/object.h"

namespace attune::cli {

kube::Json JobJson(const JobView& view, double now);
// The same without line breaks.
std::string RenderJson(const JobView& view, double now);
// `value` without line breaks: figures outside JSON's range become null, and what is no UTF-8 is replaced.
std::string JsonLine(const kube::Json& value);

}  // namespace attune::cli
