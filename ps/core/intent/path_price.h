// What a byte costs between a worker and one home, in seconds: b of decision 0070. From rounds: the quickest of those
// that carry little says how long the way takes, the quickest of those that carry much how much longer for each byte.
// Of the quickest, because what holds up one round (a busy process, other traffic that passes) says nothing about
// bytes; what holds up all of them, a link that is slow or full, does. Pure. Externally synchronized.
#pragma once

#include <algorithm>
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
    if (bytes <= kLittle) way_ = std::min(way_, seconds);
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
  static constexpr int kRounds = 16;  // that carry much
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  struct Carried {
    double seconds = kNone;
    double bytes = 1;
    bool IsQuickerThan(const Carried& other) const { return seconds * other.bytes < other.seconds * bytes; }
  };

  void EndPeriod() {
    const Carried quickest = std::exchange(quickest_, {});
    if (way_ < kNone) way_known_ = std::exchange(way_, kNone);
    const double measured = std::max(0.0, quickest.seconds - way_known_) / quickest.bytes;
    price_ = std::clamp(is_measured_ ? (price_ + measured) / 2 : measured, kLeast, kMost);
    is_measured_ = true;
    rounds_ = 0;
  }

  double price_ = kLeast;
  bool is_measured_ = false;
  // Of the present period.
  int rounds_ = 0;
  Carried quickest_;
  double way_ = kNone;
  double way_known_ = 0;  // of the last period in which a round carried little
};

}  // namespace attune::ps
