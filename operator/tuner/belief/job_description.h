// What the tuner is given of a job before it begins: its settings, its goal, what changes cost. Plain values.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "base/sync_mode.h"
#include "operator/tuner/models/change_cost.h"
#include "operator/tuner/models/pricing.h"
#include "operator/tuner/records/history.h"
#include "operator/tuner/space/search_space.h"

namespace attune::tuner {

enum class GoalKind {
  kLoss,    // reach a loss, from above
  kMetric,  // reach a metric: from below, or from above where it falls
  kSteps,   // make a number of updates; without a bound where max_seconds is one
  kEpochs,  // the same in passes over the data
};

struct Goal {
  GoalKind kind = GoalKind::kLoss;
  double target = 0;
  double max_steps = std::numeric_limits<double>::infinity();    // the job ends there at the latest
  double max_seconds = std::numeric_limits<double>::infinity();  // the same, since the first report began
  double steps_per_epoch = 0;                                    // for kEpochs, > 0
  bool metric_falls = false;                                     // for kMetric: less is better, and never below 0
};

// When a job ends at the latest, from now on.
struct Ending {
  double steps = std::numeric_limits<double>::infinity();  // updates of single workers
  double seconds = std::numeric_limits<double>::infinity();
};

// Parts that can be left out, to measure what each is worth (bench/tuning).
struct TunerParts {
  bool structure = true;   // prior from structural models; otherwise Matern on log2 knobs
  bool efficiency = true;  // progress per update depends on staleness
  bool collapse = true;    // hypotheses of a collapse of progress
  bool probe = true;       // a probe at low staleness where the loss cannot show
  bool medians = true;     // blocks are medians of windows
  bool memory = true;      // memory telemetry
  bool cpu = true;         // what throttling and use of CPU say of limits
  bool timing = true;      // what processes do with their time says which random models are like this job
  bool crash_rule = true;  // any crash rule
  bool start_design = true;
  bool value_of_trial = true;  // otherwise the best mean is tried
  bool change_costs = true;    // costs are weighed
  bool hysteresis = true;
  bool drift = true;
  bool loss_horizon = true;  // otherwise the time elapsed is the horizon
};

struct JobDescription {
  SpaceDescription space;
  Goal goal;
  Objective objective;
  ChangeCosts costs;
  double window_seconds = 10;  // shortest period worth measuring
  SyncMode mode;
  uint64_t seed = 1;
  TunerParts parts;
  JobHistory history;     // of finished jobs; empty: start cold
  std::string signature;  // of this job; entries of the history with the same one are used
};

}  // namespace attune::tuner
