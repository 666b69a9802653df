// A job of random nature with a parameter server: how long an update takes at each setting, and what its processes do
// meanwhile. Thousands of them are what is believed before anything was measured (structural_prior.h). Times are
// relative to the compute time of one worker with one thread.
#pragma once

#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/sync_mode.h"
#include "operator/tuner/space/search_space.h"

namespace attune::tuner {

// How a random job uses the cores it is given, where these are knobs: what a thread computes is done by one core at
// most, what waits for memory gains nothing from more than one, and a limit below one core slows all of it (Amdahl's
// law with a memory-bound share, under a quota of CPU time).
struct CoreUse {
  double own_threads = 1;  // of a program whose threads are no knob
  double memory_bound = 0;
  double messages = 0;  // share of the time for messages that needs the CPU

  double Compute(double parallel, double threads, double cores) const;
  double Message(double cores) const;
};

// What the processes of a job do with their time at a setting, in the mean over the pods of a role, 1 at most.
struct TimeShares {
  double compute = 0;               // of a worker's time: computing
  double compute_and_messages = 0;  // and with what it does for messages, which programs may count as computing
  double busy = 0;                  // of a server's time: serving
};

class RandomModel {
 public:
  RandomModel(const SearchSpace& space, SyncMode mode, Random& random);

  double LogSeconds(int id) const;  // per update of the job
  TimeShares Shares(int id) const;

 private:
  struct Stages {
    double compute = 0, messages = 0;  // of one worker, for an update
    double server = 0, seconds = 0;    // of all servers, and in all, for an update of the job
  };
  Stages StagesAt(int id) const;
  double Cores(bool known, int id, std::string_view knob) const;
  int Most(std::string_view name) const;

  const SearchSpace& space_;
  SyncMode mode_;
  double parallel_, thread_cores_, thread_fall_, communication_, fan_out_, server_, link_, constant_, per_worker_;
  bool worker_cores_known_ = false, server_cores_known_ = false, own_threads_ = false;
  CoreUse worker_use_, server_use_;
  double per_pair_, norm_, straggle_, host_cores_, slowness_, overload_at_, overload_;
  int slow_from_;
  std::vector<double> curvature_, optimum_;
};

}  // namespace attune::tuner
