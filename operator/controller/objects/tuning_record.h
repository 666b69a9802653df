// What the tuner of a job must not forget, in an object of its own: a ConfigMap of the job, <job>-tuning. It is written
// before what follows from it, so an operator that takes over continues. Believed is only what is this job's, by the
// uid of its owner, and what was written about a job no newer than the one in hand:
//
//   state        what controller::TuningLoop saves
//   generation   of the job that it was written about: a cache that shows an older one is waited for
//   writer       the process that wrote it, drawn at random: by it a late write of its own is known from another's
//
// The values are read from the API server itself, never from a cache; each write names the version that it replaces.
#pragma once

#include <cstdint>
#include <string>

#include "operator/api/training_job.h"
#include "operator/kube/object.h"

namespace attune::controller {

struct TuningRecord {
  std::string state;
  int64_t generation = 0;
  std::string writer;
};

// The values of a ConfigMap that was read; what is missing is empty.
TuningRecord ReadTuningRecord(const kube::Json& config_map);
kube::Json TuningRecordData(const TuningRecord& record);
// Owned by the job, and gone with it.
kube::Json BuildTuningRecord(const api::TrainingJob& job, const TuningRecord& record);

}  // namespace attune::controller
