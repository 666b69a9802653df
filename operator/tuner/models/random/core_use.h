// How processes of a random job use the cores that they are given, where these are knobs: what a thread computes is
// done by one core at most, what waits for memory gains nothing from more than one, and a limit below one core slows
// all of it (Amdahl's law with a memory-bound share, under a quota of CPU time). A plain value; times are relative.
#pragma once

#include "base/random.h"

namespace attune::tuner {

class CoreUse {
 public:
  CoreUse(Random& random, int most_millicores);

  double Compute(double parallel, double threads, double cores) const;
  double Message(double cores) const;
  double own_threads() const { return own_threads_; }  // of a program whose threads are no knob

 private:
  double own_threads_ = 1;
  double memory_bound_ = 0;
  double messages_ = 0;  // share of the time for messages that needs the CPU
};

}  // namespace attune::tuner
