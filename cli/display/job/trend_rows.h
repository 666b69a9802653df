// How a job's figures went since its display began, as rows of it: a sparkline each.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/display/screen.h"
#include "cli/runs/job_view.h"

namespace attune::cli {

// How a figure went, with its extremes beside it.
struct TrendRow {
  std::string name;
  const std::vector<double>* values = nullptr;  // of the view
  std::string (*format)(double) = nullptr;
};

// Loss and rate since the display began, and the metrics that were reported since: the first ones of them, where not
// all fit `most` lines.
std::vector<TrendRow> TrendRows(const JobView& view, size_t most);
// Names one below the other, so that the lines begin at one place.
void AddTrends(const std::vector<TrendRow>& rows, const Screen& screen, std::vector<std::string>& lines);

}  // namespace attune::cli
