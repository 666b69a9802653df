// Measures a job window by window: from the counters at the begin of a window and those at its end comes the report
// that the tuner is given. Counters of another process mean nothing, so that a window does not outlive its operator.
#pragma once

#include <cstdint>
#include <optional>

#include "operator/controller/observe/tuning_values.h"
#include "operator/tuner/belief/report.h"

namespace attune::controller {

class WindowMeter {
 public:
  // The next window begins, at `begin` by the clock of the input.
  void Open(const TuningInput& input, double begin);
  // What has happened since is not worth knowing.
  void Drop() { window_.reset(); }
  bool is_open() const { return window_.has_value(); }
  // REQUIRES: a window is open.
  double Length(double now) const { return now - window_->begin; }

  // What happened since the window was opened, without the setting; the next window begins. Nothing where none is open,
  // it is too short, or the counters began again. Steps count even when nothing else of them is worth knowing.
  std::optional<tuner::Report> Close(const TuningInput& input, bool during_change);

 private:
  struct Window {
    double begin = 0;
    uint64_t steps = 0;
    double loss_sum = 0, loss_weight = 0;
    uint64_t metric_reports = 0;
  };
  std::optional<Window> window_;
};

}  // namespace attune::controller
