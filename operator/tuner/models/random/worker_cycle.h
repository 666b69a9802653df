// What a worker of a random job does for an update: it computes with its threads, and sends and receives messages. A
// plain value; times are relative to the compute time of one worker with one thread.
#pragma once

#include <optional>

#include "base/random.h"
#include "operator/tuner/models/random/core_use.h"

namespace attune::tuner {

class WorkerCycle {
 public:
  WorkerCycle(Random& random, int most_threads);

  // Cores are a knob. `own_threads`: threads are none, so that the program has some of its own.
  void SetCoreUse(const CoreUse& use, bool own_threads);

  bool knows_cores() const { return use_.has_value(); }

  // How many threads those that are offered are worth: beyond the cores of the machine more of them do harm.
  double EffectiveThreads(double offered) const;
  double Compute(double effective_threads, double cores) const;
  double Messages(double cores) const;
  // For asking so many servers.
  double FanOut(double servers) const { return fan_out_ * servers; }

 private:
  double parallel_, thread_cores_, thread_fall_, communication_, fan_out_;
  std::optional<CoreUse> use_;
  bool own_threads_ = false;
};

}  // namespace attune::tuner
