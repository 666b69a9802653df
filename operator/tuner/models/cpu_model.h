// Who is short of CPU? A quota of cores shows itself: a process that is throttled a share p of the time would need its
// use divided by 1 - p, and one that never is, and uses less than its limit, gains nothing from more. Plain search has
// to try limits to find that out. What is read at a setting becomes differences of speed to the settings that differ in
// one limit, for the Gaussian process (throughput_model.h), and a bound on the speed of every setting: an update takes
// as much CPU time elsewhere as where it was measured. Source: docs/tuner.md#how-it-decides, 5.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "operator/tuner/models/throughput_model.h"
#include "operator/tuner/space/search_space.h"

namespace attune::tuner {

// Of the servers or the workers of a job in a window, in the mean over the pods.
struct CpuReading {
  std::optional<double> throttled;  // share of the time
  std::optional<double> use;        // share of the limit
};

class CpuModel {
 public:
  struct Side {
    double throttled = -1, use = -1;  // smoothed; negative: not measured
    double per_update = -1;           // CPU time, in cores or, without a knob of them, in limits of a pod
  };
  struct Entry {
    int setting = 0;
    double windows = 0;
    Side worker, server;
  };

  // `updates` of single workers were made in `seconds`; `windows` of the job's.
  void Absorb(const SearchSpace& space, int setting, const CpuReading& worker, const CpuReading& server, double updates,
              double seconds, double windows);

  // What the settings seen last have shown of limits; `windows`: how long each setting's speed was measured.
  std::vector<Difference> Differences(const SearchSpace& space, const std::vector<double>& windows) const;
  // Log of the least seconds per update that the CPU of a setting allows, for every setting; empty: nothing is known.
  std::vector<double> LeastLogSeconds(const SearchSpace& space) const;

  // What runs `at` a setting without being throttled has half as much again as its use in the limits of another as
  // well.
  bool LeavesRoom(const SearchSpace& space, int at, int other) const;

  const std::vector<Entry>& entries() const { return entries_; }
  void Load(std::vector<Entry> entries) { entries_ = std::move(entries); }

  static constexpr size_t kEntriesMax = 24;  // the newest last

 private:
  std::vector<Entry> entries_;
};

}  // namespace attune::tuner
