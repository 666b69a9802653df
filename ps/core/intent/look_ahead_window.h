// How many steps ahead a worker acts on what its program has announced, so that rows are there when they are used and
// no earlier than needed: with rho steps a second and A seconds from asking for a row to having it, nearly all fetches
// end within the 0.9999-quantile of Poisson(rho A + 1) steps (AdaPM, section 4, with the measured time A in place of
// two rounds). Pure. Externally synchronized.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time_source.h"

namespace attune::ps {

// The 0.9999-quantile of the Poisson distribution with this mean.
uint64_t PoissonBound(double mean);

class LookAheadWindow {
 public:
  // A row has come, so long after it was asked for.
  void Fetched(Duration took);
  // A: the 0.99-quantile of the last 256 of these times; 10 ms before the first.
  Duration fetch_time() const { return fetch_time_; }
  // The median of them; 10 ms before the first.
  Duration usual_fetch_time() const { return usual_; }
  // W, in steps; at least 1.
  uint64_t Steps(double steps_per_second);

 private:
  static constexpr size_t kTimes = 256;
  static constexpr size_t kRecalculateAfter = 16;  // times; the quantile hardly changes with fewer

  std::array<Duration, kTimes> times_{};
  size_t fetched_ = 0;
  Duration fetch_time_ = std::chrono::milliseconds(10);
  Duration usual_ = std::chrono::milliseconds(10);
  double mean_ = 0;  // that steps_ was calculated for
  uint64_t steps_ = 1;
};

}  // namespace attune::ps
