#include "operator/tuner/models/random/worker_cycle.h"

#include <algorithm>
#include <cmath>

#include "operator/tuner/models/random/draws.h"

namespace attune::tuner {

WorkerCycle::WorkerCycle(Random& random, int most_threads)
    : parallel_(DrawUniform(random, 0.3, 0.99)),
      thread_cores_(DrawLogUniform(random, 1, 2.5 * most_threads)),
      thread_fall_(DrawUniform(random, 0, 0.7)),
      communication_(DrawLogUniform(random, 0.005, 1)),
      fan_out_(DrawLogUniform(random, 0.001, 0.1)) {}

void WorkerCycle::SetCoreUse(const CoreUse& use, bool own_threads) {
  use_ = use;
  own_threads_ = own_threads;
}

double WorkerCycle::EffectiveThreads(double offered) const {
  if (own_threads_) return use_->own_threads();
  return offered <= thread_cores_ ? offered : thread_cores_ * std::pow(thread_cores_ / offered, thread_fall_);
}

double WorkerCycle::Compute(double effective_threads, double cores) const {
  return use_ ? use_->Compute(parallel_, effective_threads, cores)
              : 1 - parallel_ + parallel_ / std::max(effective_threads, 0.5);
}

double WorkerCycle::Messages(double cores) const { return communication_ * (use_ ? use_->Message(cores) : 1); }

}  // namespace attune::tuner
