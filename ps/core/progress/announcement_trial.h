// Whether the workers of a job act on what their programs announce. Rows fetched ahead and copies save the time of
// waiting and cost processor time, at the workers and at the homes. Which of the two is more depends on the links, on
// the program and on what else runs on the machines, none of which is known here; the steps that all workers end in a
// second show all of it. So the coordinator has the job run with and without, in turns, and keeps what is faster until
// the next trial. All workers change at the same time: one alone that takes processor time from the others would find
// that it pays.
//
// A trial has six phases, every other one with announcements ignored, and compares the medians of their rates. What is
// acted on takes time to pay, as copies have to come first over a slow link: while the rate of such a phase still
// rises, it is not measured. Trials are far apart: at first 12, and with each equal outcome up to 48 times as far as
// one takes, so that the phases of the worse kind are some 4 and later 1 percent of all time. Pure. Externally
// synchronized.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/time_source.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

class AnnouncementTrial {
 public:
  // A worker has ended so many steps since it joined. `announces`: its program has announced rows of late.
  void Report(NodeId worker, uint64_t steps, bool announces, MonotonicTime now);
  void Remove(NodeId worker, MonotonicTime now);
  // This process has stood still for so long.
  void SkipPause(Duration pause, MonotonicTime now);

  // Workers act on announcements at present.
  bool acts() const { return in_progress() ? phase_ % 2 == 0 : is_worth_it_; }
  bool in_progress() const { return phase_ < kPhases; }
  // The job's rate with announcements acted on, relative to that with announcements ignored, by the last trial; none
  // before its end.
  std::optional<double> speedup() const { return speedup_; }

 private:
  struct Sample {
    uint64_t steps = 0;
    MonotonicTime at{};
  };
  struct Worker {
    std::optional<Sample> first, middle, last;  // of what is measured
  };

  static constexpr size_t kPhases = 6;
  static constexpr uint64_t kSteps = 8;                         // of each worker, in a phase at least
  static constexpr Duration kBefore = std::chrono::seconds(3);  // connections, caches and rows are new
  // Workers hear of a phase with their next heartbeat, and what is on its way from the phase before comes to an end.
  static constexpr Duration kWarmUp = std::chrono::milliseconds(1500);
  static constexpr Duration kWindow = std::chrono::milliseconds(2500);  // is measured
  static constexpr Duration kPhaseMax = std::chrono::minutes(5);        // a longer one ends the trial
  // Between the first and the last report that a rate is measured by: several that were held up may come at once.
  static constexpr Duration kMeasured = std::chrono::seconds(1);
  // A rate still rises if it is higher by this factor in the second half of a window. After kRiseMax the phase counts
  // as it is: the rate may rise for other reasons.
  static constexpr double kRise = 1.1;
  static constexpr Duration kRiseMax = std::chrono::seconds(20);
  static constexpr Duration kAgain = std::chrono::seconds(10);  // after a trial without an outcome
  static constexpr int64_t kRestMin = 12, kRestMax = 48;        // trials
  static constexpr double kGain = 1.03;  // less is within what measuring varies by, and costs processor time

  void Begin(size_t phase, MonotonicTime now);
  void Measure(MonotonicTime from);
  void Abandon(MonotonicTime now, Duration rest = kAgain);
  bool IsMeasured(MonotonicTime now) const;
  bool Rises() const;
  double Rate() const;
  double MedianFrom(size_t first) const;
  void Decide(MonotonicTime now);

  std::map<NodeId, Worker> workers_;  // whose programs announce
  size_t phase_ = kPhases;            // kPhases: none, until next_
  MonotonicTime measured_from_{}, phase_began_{}, trial_began_{};
  std::optional<MonotonicTime> next_;
  std::array<double, kPhases> rates_{};
  bool is_worth_it_ = true;
  int64_t rests_ = kRestMin / 2;
  std::optional<double> speedup_;
};

}  // namespace attune::ps
