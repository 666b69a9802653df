// How long all servers of a random job serve for an update, and how they suffer from too many workers. Plain values;
// times are relative to the compute time of one worker with one thread.
#pragma once

#include <optional>

#include "base/random.h"
#include "operator/tuner/models/random/core_use.h"

namespace attune::tuner {

class ServerService {
 public:
  explicit ServerService(Random& random);

  void SetCoreUse(const CoreUse& use) { use_ = use; }  // cores are a knob
  bool knows_cores() const { return use_.has_value(); }

  // `crowd`: how much slower everything is because the machine is full.
  double Seconds(double servers, double cores, double crowd) const;

 private:
  double service_;
  std::optional<CoreUse> use_;
};

// Beyond a number of workers for each server the service becomes slower.
class Overload {
 public:
  Overload(Random& random, int most_workers);
  double Factor(double servers, double workers) const;

 private:
  double at_, slowdown_;  // workers for each server; for as many workers again
};

}  // namespace attune::tuner
