// How the figures of one job went since its display began. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cli/display/trend.h"
#include "cli/runs/job_view.h"

namespace attune::cli {

class ViewTrends {
 public:
  // Takes the view's figures as the newest ones, and gives the view its trends.
  void Add(JobView& view);

 private:
  struct OfMetric {
    Trend values;
    uint64_t reports = 0;  // seen so far
  };

  Trend loss_, rate_;
  std::map<std::string, OfMetric> metrics_;
};

}  // namespace attune::cli
