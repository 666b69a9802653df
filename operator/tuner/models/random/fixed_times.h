// What an update of a random job takes besides: time of the network that overlaps with everything, and time that
// overlaps with nothing. A plain value; times are relative to the compute time of one worker with one thread.
#pragma once

#include "base/random.h"

namespace attune::tuner {

class FixedTimes {
 public:
  FixedTimes(Random& random, int most_workers);

  double link() const { return link_; }
  // `seconds`, and what overlaps with nothing.
  double AddTo(double seconds, double servers, double workers) const {
    return seconds + constant_ + per_worker_ * workers + per_pair_ * workers * servers;
  }

 private:
  double link_, constant_, per_worker_, per_pair_;
};

}  // namespace attune::tuner
