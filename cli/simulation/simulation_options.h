// From a job and what a user says of it to the plan of a simulation: what was not said has a default, or comes from an
// earlier run. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/arguments.h"
#include "cli/runs/run_history.h"
#include "cli/simulation/simulation.h"

namespace attune::cli {

// What an earlier run of the job has shown.
struct RecordedFigures {
  std::string run;                 // its name
  controller::JobSetting setting;  // at which it trained longest
  double samples_per_second = 0;   // of all workers there, the median
  double samples_per_step = 0;     // 0: its steps were not recorded
  double samples = 0;              // to the goal; 0: not known
  std::string unit;                // of samples: "words"; "": not known
  int machine_cores = 0;           // 0: not known
};

// NotFound where the run has recorded no speed.
StatusOr<RecordedFigures> FiguresOf(const RunHistory& history, const std::string& run);

// A part of the model in words: "computing", "10k samples/s on one core", "--samples-per-second".
struct Assumption {
  std::string name, value;
  std::string source;  // who says so: an option, "default", "spec.data.items", "run word2vec-1"
};

struct PlannedSimulation {
  SimulationPlan plan;
  std::string job;
  std::vector<Assumption> assumptions;
};

// InvalidArgument for an option that no job could have; FailedPrecondition for a job that is not tuned. Both say what
// to do. `seed`: where the arguments have none.
StatusOr<PlannedSimulation> PlanSimulation(const api::TrainingJob& job, const SimulateArguments& arguments,
                                           const std::optional<RecordedFigures>& recorded, uint64_t seed);

}  // namespace attune::cli
