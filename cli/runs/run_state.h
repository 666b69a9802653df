// What the API held of a job when it was last looked at, kept in the run directory so that a run that has ended answers
// as one that runs: the object, its pods, its Events and what the tuner keeps. Pure values; the archived API serves
// them.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/runs/run_record.h"
#include "operator/kube/object.h"

namespace attune::cli {

struct RunState {
  kube::Json job;
  std::vector<kube::Json> pods, events;
  kube::Json tuning_record = {};  // what the tuner keeps, a ConfigMap; null: there is none

  static constexpr size_t kEventsMax = 500;  // the newest
};

// Without what only an API server needs (managedFields).
std::string SaveState(RunState state);
// InvalidArgument when it is no such file.
StatusOr<RunState> LoadState(const std::string& text);
std::string StateFile(const std::string& job);  // its name in a run directory

// As it is now that nothing runs any longer: no pod is ready, and a job that was ended from outside does not say that
// it is running.
RunState Settled(RunState state, RunOutcome outcome);

}  // namespace attune::cli
