// Workers of a random job that are slower than others: some for good, or all by chance. Plain values.
#pragma once

#include "base/random.h"

namespace attune::tuner {

// Delays by chance are waited for where the lead is bounded, the less, the further the others may run ahead meanwhile.
class ChanceDelays {
 public:
  explicit ChanceDelays(Random& random);
  // A worker's cycle with its waits. `slack`: kSlackAsync is no bound.
  double Cycle(double cycle, double workers, int slack) const;

 private:
  double straggle_;
};

// From some worker on they are slower for good. Any bound on the lead brings all to their pace.
class SlowWorkers {
 public:
  SlowWorkers(Random& random, int most_workers);

  struct Pace {
    double cycle = 0;    // of one worker
    double workers = 0;  // as many of which would make as many updates
  };
  Pace PaceOf(double cycle, double workers, int slack) const;

 private:
  int from_;  // the first of them
  double slowness_;
};

}  // namespace attune::tuner
