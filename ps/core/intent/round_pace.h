// How often a worker and a home exchange rounds about copies of rows: so that the rows in them cost a twentieth of a
// core, at least every 100 ms and at most every 10 ms. With a step that begins, when messages leave anyway; by a timer
// only when no step has begun for as long again. Pure. Externally synchronized.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time_source.h"
#include "ps/core/intent/row_decision.h"

namespace attune::ps {

class RoundPace {
 public:
  // A round is sent.
  void Sent(MonotonicTime now) {
    const double seconds = cost_ / kShare;
    interval_ = std::clamp(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)), kIntervalMin,
                           kIntervalMax);
    sent_ = now;
    cost_ = 0;
  }
  // It carried so many folds or announcements, or its answer so many rows, of so many bytes each.
  void Carried(size_t rows, size_t row_bytes) {
    cost_ += static_cast<double>(rows) * costs_.Copy({.values = static_cast<uint32_t>(row_bytes), .state = 0});
  }
  // When the next one may be sent with a step that begins, and without one.
  MonotonicTime next() const { return sent_ + interval_; }
  MonotonicTime latest() const { return sent_ + 2 * interval_; }
  uint64_t per_second() const { return static_cast<uint64_t>(std::chrono::seconds(1) / interval_); }

 private:
  static constexpr double kShare = 0.05;
  static constexpr Duration kIntervalMin = std::chrono::milliseconds(10);
  static constexpr Duration kIntervalMax = std::chrono::milliseconds(100);

  AccessCosts costs_;
  double cost_ = 0;  // seconds of processor time, since the last round was sent
  Duration interval_ = kIntervalMin;
  MonotonicTime sent_{};
};

}  // namespace attune::ps
