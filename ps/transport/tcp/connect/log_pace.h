// How often something that strangers cause is logged: once in a while, with the number of times that were passed over.
//
// Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/time_source.h"

namespace attune::ps {

class LogPace {
 public:
  explicit LogPace(Duration pause) : pause_(pause) {}

  // It happens now: how many times before were not logged, or nothing when this one is not to be logged either.
  std::optional<uint64_t> Next(MonotonicTime now) {
    if (now < next_at_) {
      ++passed_over_;
      return std::nullopt;
    }
    next_at_ = now + pause_;
    return std::exchange(passed_over_, 0);
  }

 private:
  const Duration pause_;
  MonotonicTime next_at_{};
  uint64_t passed_over_ = 0;
};

}  // namespace attune::ps
