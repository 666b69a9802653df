// What processes do with their time shows what a search has to find out by trials: workers that compute nearly all of
// it gain from more workers, workers that wait for busy servers from more servers, and where both are idle something
// else holds them up. Readings of the settings that a job has run at, smoothed; a job's prior is made from the random
// models that agree with them (structural_prior.h). Source: docs/tuner.md#how-it-decides, 1.
#pragma once

#include <optional>
#include <vector>

namespace attune::tuner {

// Of one setting, in the mean over the pods of a role; negative: not measured.
struct TimeReading {
  int setting = 0;
  double compute = -1;  // share of a worker's time in which it computes rather than waits
  double busy = -1;     // share of a server's time in which it serves
  double windows = 0;   // measured
};

class TimingModel {
 public:
  void Absorb(int setting, std::optional<double> compute, std::optional<double> busy, double windows);

  // More is known than what was taken last: a setting was measured for a window, or for eight. Making a
  // prior costs some hundredths of a second, so there are kTakenMax of them in the life of a job.
  bool HasNews() const;
  // Those that were measured longest, kShown at most; what is taken is what taken() is from now on.
  const std::vector<TimeReading>& Take();
  const std::vector<TimeReading>& taken() const { return taken_; }

  struct Saved {
    std::vector<TimeReading> readings, taken;
    int times = 0;
  };
  Saved Save() const { return {readings_, taken_, times_}; }
  void Load(Saved saved);

  static constexpr size_t kReadingsMax = 24;  // the newest last
  static constexpr size_t kShown = 6;
  static constexpr int kTakenMax = 12;
  static constexpr double kFirstWindows = 0.9, kManyWindows = 8;

 private:
  std::vector<TimeReading> readings_, taken_;
  int times_ = 0;  // taken
};

}  // namespace attune::tuner
