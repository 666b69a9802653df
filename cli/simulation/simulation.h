// What the tuner would do with a job that behaves as a model says: the loop of the operator that works on running jobs
// (operator/controller/tuning/tuning_loop.h) is shown the model in simulated time, and obeyed. Pure: equal plans give
// equal results.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "cli/simulation/job_model.h"
#include "operator/controller/observe/tuning_values.h"
#include "operator/tuner/records/decision_record.h"

namespace attune::cli {

struct SimulationPlan {
  JobModel model;
  double total_steps = 0;     // to the goal, of updates that are not stale
  double items_per_step = 0;  // > 0: the goal counts epochs, and the job its items
  uint64_t seed = 1;
  controller::TuningInput job;  // as its spec says (operator/controller/tuning/tuning_input.h)
};

// A change that the tuner made. Gains are of progress per second, or for the money where the objective is
// cost, against the setting kept until then.
struct SimulatedChange {
  tuner::NamedRecord record;
  double model_gain = 0;  // what the model says: a logarithm, as those of the record
};

// How the job does without the tuner, or did with it.
struct SimulatedCourse {
  controller::JobSetting setting;  // at the end
  double seconds = 0;              // since the job began, until the goal
  double cost = 0;                 // by the prices of the job's objective
  bool reached = true;             // the goal, before its greatest duration
  double fraction = 1;             // of the goal, at the end
};

struct SimulationResult {
  std::vector<SimulatedChange> changes;  // by time
  SimulatedCourse tuned, untouched, best;
  std::optional<controller::JobSetting> recommended;  // of a tuner that only recommends
  int settings = 0;                                   // that the tuner may choose from
  std::vector<tuner::KnobRange> knobs;                // that span them
  std::string stage, message;                         // as the status of the job says at the end
};

// FailedPrecondition where the tuner has nothing to do with such a job; says why.
StatusOr<SimulationResult> Simulate(const SimulationPlan& plan);

}  // namespace attune::cli
