// What a byte costs between a worker and one home, in seconds: b of decision 0070. From rounds: the quickest of those
// that carry little says how long the way takes, the quickest of those that carry much how much longer for each byte.
// Of the quickest, because what holds up one round (a busy process, other traffic that passes) says nothing about
// bytes; what holds up all of them, a link that is slow or full, does. Pure. Externally synchronized.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/time_source.h"

namespace attune::ps {

class PathPrice {
 public:
  // A round and its answer together carried so many bytes. `time`: without what the rows in them cost processors.
  void Took(size_t bytes, Duration time) {
    const double seconds = std::max(0.0, std::chrono::duration<double>(time).count());
    if (bytes <= kLittle) ways_[period_] = std::min(ways_[period_], seconds);
    if (bytes < kMuch) return;
    const Carried carried{.seconds = seconds, .bytes = static_cast<double>(bytes)};
    if (carried.IsQuickerThan(quickest_)) quickest_ = carried;
    if (++rounds_ == kRounds) EndPeriod();
  }
  // Not below what processors pay for a byte, which is all that is known at first.
  double seconds_per_byte() const { return price_; }

  static constexpr double kLeast = 1e-9;
  static constexpr double kMost = 1e-6;  // 8 Mbit/s; slower links change no decision any more

 private:
  static constexpr size_t kLittle = 4 << 10, kMuch = 32 << 10;
  static constexpr int kRounds = 16;     // that carry much, of a period
  static constexpr size_t kPeriods = 4;  // so long a way is remembered
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  struct Carried {
    double seconds = kNone;
    double bytes = 1;
    bool IsQuickerThan(const Carried& other) const { return seconds * other.bytes < other.seconds * bytes; }
  };

  void EndPeriod() {
    const Carried quickest = std::exchange(quickest_, {});
    if (const double way = *std::ranges::min_element(ways_); way < kNone) way_ = way;
    const double measured = std::max(0.0, quickest.seconds - way_) / quickest.bytes;
    price_ = std::clamp(is_measured_ ? (price_ + measured) / 2 : measured, kLeast, kMost);
    is_measured_ = true;
    rounds_ = 0;
    period_ = (period_ + 1) % kPeriods;
    ways_[period_] = kNone;
  }

  double price_ = kLeast;
  bool is_measured_ = false;
  int rounds_ = 0;     // of the present period
  Carried quickest_;   // of these
  size_t period_ = 0;  // in ways_
  // By period: few rounds may carry little, and all of them be held up.
  std::array<double, kPeriods> ways_{kNone, kNone, kNone, kNone};
  double way_ = 0;  // the least of them, also when all of them are none again
};

}  // namespace attune::ps
