// Looks at a running job for what is wrong with a part of it: a hot server, a straggling worker, memory that runs out,
// starved workers, a loss that stalls or is no number. Keeps the recent windows that tuner/detectors.h judges, and says
// of each finding once that it came and, when it has gone, that it is gone. Nothing is acted on here: a finding names
// the rung of the ladder that would help.
//
// Pure: what is seen comes with its time. Bounded by kWindowsKept windows of each node. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operator/controller/observe/tuning_values.h"
#include "operator/tuner/detectors.h"

namespace attune::controller {

class JobHealth {
 public:
  // One look; a window is taken when window_seconds have passed since the last one and all pods report. Appends to
  // `events` what is news.
  void Look(const TuningInput& input, std::vector<TuningOutput::Event>& events);

  // What is wrong now, in the order in which it was found.
  std::vector<tuner::Finding> findings() const;
  // JSON array of {symptom, remedy, node, text}, for TuningStatus::state.
  std::string Save() const;

  static constexpr size_t kWindowsKept = 64;
  static constexpr size_t kLossesKept = 128;
  static constexpr size_t kFindingsMax = 16;
  // A finding is gone when so many windows in a row do not show it.
  static constexpr int kWindowsUntilGone = 4;
  // One that comes back sooner is not reported again.
  static constexpr double kQuietSeconds = 600;
  // So many windows with steps but without a loss, after losses were seen: it is no number any more.
  static constexpr int kWindowsWithoutLoss = 3;

 private:
  struct Known {
    tuner::Finding finding;
    double reported_at = 0;
    int absent = 0;  // windows in a row
    bool present = true;
  };

  void TakeWindow(const TuningInput& input);
  void TakeLoss(const TuningInput& input);
  std::vector<tuner::Finding> Detect() const;

  std::optional<double> window_at_;
  JobSetting setting_;
  std::vector<tuner::NodeTrace> servers_, workers_;
  std::vector<double> losses_;
  uint64_t steps_ = 0;
  double loss_sum_ = 0, loss_weight_ = 0;
  int without_loss_ = 0;
  std::vector<Known> known_;
};

// What JobHealth::Save wrote, as text for a person: one line each. Damaged text gives nothing.
std::vector<std::string> FindingsOf(const std::string& saved);

}  // namespace attune::controller
