// What one process remembers of one job between two reconciles; by the thread that reconciles the job. Nothing that a
// new process could not do without: it saves repeated calls, and bridges the moment until the caches show a write.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/controller/execute/carrier.h"
#include "operator/controller/observe/act_failures.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/plan/requests/requests.h"
#include "operator/controller/tuning/tuning_loop.h"

namespace attune::controller {

struct JobMemory {
  std::string job_uid;
  Done done;
  ActFailures failures;
  std::map<std::string, std::string> log_tails;  // by pod uid, of ends that are not recorded yet
  CheckpointClock checkpoints;
  std::map<std::string, int32_t> failures_in_a_row;  // by pod name, as long as the job may have such a pod
  std::map<RoleName, int64_t> memory_needs;          // resizes.h
  std::optional<TuningLoop> tuning;
  std::vector<TuningOutput::Event> events;  // of the tuner, until they are reported
};

}  // namespace attune::controller
