// All jobs as `attune top` shows them: on a screen, as a plain table, as JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/display/screen.h"
#include "cli/runs/job_view.h"
#include "operator/kube/object.h"

namespace attune::cli {

struct Fleet {
  std::vector<JobView> jobs;
  std::string where;    // "the cluster of context kind", for the heading
  std::string problem;  // why what is shown is not all, or not new; "" when it is
  bool with_namespace = false;
};

// Jobs that have not ended first, then by namespace and name: a row stays where it is while its job runs.
void SortFleet(std::vector<JobView>& jobs);

// At most a screen, one row left for the cursor. Columns that there is no room for are left out; where rows are free,
// what is wrong with a job, what tuning does now and its last decision stand below it.
std::vector<std::string> FleetLines(const Fleet& fleet, const Screen& screen, double now);
// With all columns, whatever their width.
std::vector<std::string> FleetTable(const Fleet& fleet, double now);
kube::Json FleetJson(const Fleet& fleet, double now);

// A job with everything that its display shows, for programs.
kube::Json TopJson(const JobView& view, double now);

}  // namespace attune::cli
