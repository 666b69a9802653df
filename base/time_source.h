// Where time comes from. Cores take `now` as an argument; shells own a TimeSource; only SystemTime touches the OS
// clock.
#pragma once

#include <chrono>

namespace attune {

using Duration = std::chrono::nanoseconds;
using MonotonicTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;  // for deadlines and rates
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;  // for people and Kubernetes objects

inline constexpr MonotonicTime kNever = MonotonicTime::max();

inline double Seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

class TimeSource {
 public:
  virtual ~TimeSource() = default;
  virtual MonotonicTime Now() const = 0;
  virtual WallTime WallNow() const = 0;
};

class SystemTime final : public TimeSource {
 public:
  MonotonicTime Now() const override { return std::chrono::steady_clock::now(); }
  WallTime WallNow() const override { return std::chrono::system_clock::now(); }
};

// For tests and simulation: moves only when asked to. Not thread-safe.
class ManualTime final : public TimeSource {
 public:
  MonotonicTime Now() const override { return now_; }
  WallTime WallNow() const override { return wall_start_ + (now_ - MonotonicTime{}); }
  void Advance(Duration by) { now_ += by; }
  void Set(MonotonicTime to) { now_ = to; }

 private:
  MonotonicTime now_{};
  WallTime wall_start_{std::chrono::seconds(1'700'000'000)};
};

}  // namespace attune
