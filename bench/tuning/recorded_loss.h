// Loss curves recorded from real runs of the examples (recorded/README.md), as truths for simulated jobs.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace attune::bench {

struct RecordedLoss {
  std::vector<double> steps, loss;  // rising, falling: the recorded means, smoothed until they never rise
  double step_variance = 0;         // of the loss of one step about the mean, typical of the second half

  double At(double at) const;              // linear between points, constant outside
  double StepsUntil(double target) const;  // first steps with this loss or less; the last ones when there are none
};

// A CSV of "steps,loss_mean,loss_variance" with a header. InvalidArgument names file and line.
StatusOr<RecordedLoss> ReadRecordedLoss(const std::string& path);
// What one example showed: its curve with one worker, and how much of an update is left of it under W - 1 stale ones.
struct RecordedExample {
  RecordedLoss loss;                                   // 1 worker
  std::vector<double> async_cost = {}, bsp_cost = {};  // updates needed with 2 and 4 workers (bsp: 4), relative to 1
};
// Reads EXAMPLE-MODE-WORKERS.csv from the directory of recorded curves.
StatusOr<RecordedExample> ReadRecordedExample(const std::string& example);

}  // namespace attune::bench
