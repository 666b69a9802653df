// A job of random nature with a parameter server: how long an update takes at each setting, and what its processes do
// meanwhile. Thousands of them are what is believed before anything was measured (structural_prior.h). Times are
// relative to the compute time of one worker with one thread.
#pragma once

#include "base/random.h"
#include "base/sync_mode.h"
#include "operator/tuner/models/random/fixed_times.h"
#include "operator/tuner/models/random/server_service.h"
#include "operator/tuner/models/random/stragglers.h"
#include "operator/tuner/models/random/unknown_knobs.h"
#include "operator/tuner/models/random/worker_cycle.h"
#include "operator/tuner/space/search_space.h"

namespace attune::tuner {

// What the processes of a job do with their time at a setting, in the mean over the pods of a role, 1 at most.
struct TimeShares {
  double compute = 0;               // of a worker's time: computing
  double compute_and_messages = 0;  // and with what it does for messages, which programs may count as computing
  double busy = 0;                  // of a server's time: serving
};

class RandomModel {
 public:
  // Keeps `space`.
  RandomModel(const SearchSpace& space, SyncMode mode, Random& random);

  double LogSeconds(int id) const;  // per update of the job
  TimeShares Shares(int id) const;

 private:
  struct Stages {
    double compute = 0, messages = 0;  // of one worker, for an update
    double server = 0, seconds = 0;    // of all servers, and in all, for an update of the job
  };
  Stages StagesAt(int id) const;

  const SearchSpace& space_;
  SyncMode mode_;
  // Each draws itself, in this order: a seed stands for the same jobs for ever.
  WorkerCycle cycle_;
  ServerService service_;
  FixedTimes fixed_;
  double norm_;  // p-norm in which times overlap
  ChanceDelays delays_;
  double host_cores_;  // of the machine that all processes share
  SlowWorkers slow_workers_;
  Overload overload_;
  UnknownKnobs unknown_;
};

}  // namespace attune::tuner
