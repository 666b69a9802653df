// When a job writes checkpoints by itself. What spec.checkpoint.intervalSeconds states is done. A job that states
// nothing, has no backups and a place that outlasts its pods gets checkpoints too once it has run for ten minutes: by
// then a lost server costs more than the checkpoints do.
//
// How often, follows from what the last one took: writing is to take a fiftieth of the time at most, and not more than
// an hour of work is to be lost.
#pragma once

#include <optional>
#include <string>

#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"

namespace attune::controller {

struct CheckpointSchedule {
  Duration interval{};      // from one to the next; of the first, from the start of the job
  bool is_default = false;  // the job states none
};

// A checkpoint of this job is still there when its pods are gone: these take what is in a directory of their own with
// them.
bool CheckpointsOutlastPods(const api::TrainingJob& job, const PlanOptions& options);

// nullopt: only when asked for.
std::optional<CheckpointSchedule> ScheduleOf(const api::TrainingJob& job, const PlanOptions& options);

// How long the newest checkpoint took, from the order to the answer, as far as this operator gave the order; nullopt:
// not known.
std::optional<Duration> LastCheckpointTook(const Observed& observed);

}  // namespace attune::controller
