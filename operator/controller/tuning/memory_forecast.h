// When a pod's memory reaches its limit, from what its reports say over time, so that the limit is raised before the
// kernel ends the process. Two ways of growing are known:
//
//   steadily     Theil-Sen: the median of all pairs' slopes, over all windows that are kept and over the newest ones
//                (growth that has just set in); the steeper counts, as long as the newest still grow half as fast.
//                Jumps are left out: around one the median of a few readings is its size by the time between them.
//   in jumps     a table that doubles stands still most of the time, so that the median slope is 0 until it is too
//                late. Two jumps that stayed foretell a third: growing by the same factor (between 1 and 2), and no
//                sooner than after the time between those two, which with doubling is half of the true one.
//
// The horizon is the time that a raise takes, in the worst ordinary case, and a few windows to see it: a kubelet looks
// at a pod again after its synchronization period (syncFrequency, 1 minute by default) when it missed the change.
// Until half of the limit is used, a start is no growth: tables are made and data is read. Unless the limit is
// reached within kUrgentWindows.
//
// Bytes, not shares, are kept: another limit leaves the trace as it is. Pure; bounded by kPodsMax traces of
// kWindowsKept windows. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/controller/observe/tuning_values.h"

namespace attune::controller {

class MemoryForecast {
 public:
  // `time` in seconds, never going back. Takes a window of each pod when `window_seconds` have passed.
  void Look(double time, double window_seconds, const std::vector<PodMemory>& pods);

  // Pods that reach kShare of their limit within the horizon, as of the last window; by name.
  std::vector<MemoryAlarm> Alarms() const;
  double horizon() const { return kRaiseSeconds + kHorizonWindows * window_seconds_; }

  static constexpr double kShare = 0.95;       // of the limit: there a kernel reclaims hard already
  static constexpr double kRaiseSeconds = 60;  // kubelet's syncFrequency
  static constexpr double kHorizonWindows = 6;
  static constexpr double kUrgentWindows = 4;
  static constexpr size_t kWindowsKept = 32, kNewest = 8, kWindowsLeast = 4, kPodsMax = 2048;
  // At a limit that is new: so many windows before it is found too small as well.
  static constexpr size_t kWindowsAtLimit = 2;
  // Growth within this share of the limit is noise. A jump is larger than it from one window to the next.
  static constexpr double kNoise = 0.02;
  static constexpr double kJump = 0.05;

 private:
  struct Reading {
    double time = 0, used = 0;
  };
  struct Trace {
    PodMemory now;
    std::vector<Reading> readings;  // oldest first
    size_t at_limit = 0;            // windows since the limit is what it is
    double seen_at = 0;
  };

  std::optional<MemoryAlarm> Judge(const Trace& trace) const;
  // A change from one reading to the next that is none of the usual ones, in bytes.
  static double LeastJump(const Trace& trace);
  // Bytes per second over the newest readings, without jumps; 0: it does not grow.
  static double SteadySlope(const Trace& trace);
  // Seconds until the next jump goes past `bound`; nothing when it does not, or none is foreseen.
  static std::optional<double> SecondsToJump(const Trace& trace, double bound);

  std::map<std::string, Trace> traces_;  // by pod uid
  std::optional<double> window_at_;
  double window_seconds_ = 0;
};

}  // namespace attune::controller
