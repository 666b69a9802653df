// Remaining time from progress so far. Pure: time and samples are arguments.
#pragma once

#include <optional>
#include <span>

namespace attune::tuner {

// `fraction` of a goal, 0..1, reached at `seconds` on any clock.
struct ProgressSample {
  double seconds = 0;
  double fraction = 0;
};

struct RemainingTime {
  double seconds = 0;        // from now until the fraction is 1
  double low = 0, high = 0;  // 90 % interval of the rate, as time; high is infinite when standing still is plausible
};

// The rate is the median slope over all pairs of the recent samples (Theil 1950, Sen 1968), which a few stalls, bursts
// of finished leases, or a restarted worker do not bend; the interval comes from the ranks of those slopes by the
// variance of Kendall's S. Recent is the later half of the time covered, so that the estimate follows a change of
// workers.
//
// Samples are in order of time; at least kSamplesMin with progress are needed, otherwise there is no estimate. Cost is
// quadratic in the recent samples, of which at most kSamplesMax are used.
inline constexpr size_t kSamplesMin = 3;
inline constexpr size_t kSamplesMax = 64;
std::optional<RemainingTime> EstimateRemaining(std::span<const ProgressSample> samples, double now_seconds);

}  // namespace attune::tuner
