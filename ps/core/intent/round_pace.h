// How often a worker and a home exchange rounds about copies of rows: so that the rows in them cost a twentieth of a
// core, or of the link between the two, at least every 400 ms and at most every 10 ms. With a step that begins, when
// messages leave anyway; by a timer only when no step has begun for as long again. Pure. Externally synchronized.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/time_source.h"
#include "ps/core/intent/path_price.h"
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
    carried_.rows += rows;
    carried_.bytes += rows * row_bytes;
    const AccessCosts costs{.seconds_per_byte = price_.seconds_per_byte()};
    cost_ += static_cast<double>(rows) * costs.Copy({.values = static_cast<uint32_t>(row_bytes), .state = 0});
  }
  // The answer to the last one is complete.
  void Answered(MonotonicTime now) {
    const auto [rows, bytes] = std::exchange(carried_, {});
    const std::chrono::duration<double> of_rows(static_cast<double>(rows) * AccessCosts().seconds_per_key);
    price_.Took(bytes, now - sent_ - std::chrono::duration_cast<Duration>(of_rows));
  }
  const PathPrice& price() const { return price_; }
  // When the next one may be sent with a step that begins, and without one.
  MonotonicTime next() const { return sent_ + interval_; }
  MonotonicTime latest() const { return sent_ + 2 * interval_; }
  uint64_t per_second() const { return static_cast<uint64_t>(std::chrono::seconds(1) / interval_); }

 private:
  static constexpr double kShare = 0.05;
  static constexpr Duration kIntervalMin = std::chrono::milliseconds(10);
  static constexpr Duration kIntervalMax = std::chrono::milliseconds(400);

  struct Load {
    size_t rows = 0;
    size_t bytes = 0;
  };

  PathPrice price_;
  Load carried_;     // since the last answer
  double cost_ = 0;  // seconds, since the last round was sent
  Duration interval_ = kIntervalMin;
  MonotonicTime sent_{};
};

}  // namespace attune::ps
