// Plays one job to its end under a policy and measures what came of it.
#pragma once

#include <vector>

#include "bench/tuning/policy.h"

namespace attune::bench {

struct Outcome {
  std::string family;
  uint64_t seed = 0;
  double ratio = 0;           // completion time / best static setting
  double against_mean = 0;    // mean static setting / completion time
  double against_expert = 0;  // completion time / expert default
  double length_windows = 0;
  double first_look = 0;  // pace of the first other setting against the best one; 0: none was tried
  int changes = 0, no_ops = 0, small_moves = 0;  // small: < 1 % true effect
  int adoptions = 0, rollbacks = 0, crashes = 0;
  double remaining_error = -1;  // relative, at 20 % of the job; -1: no estimate
  bool covered = false, remaining_known = false, unreachable_said = false;
  double collapse_windows = 0;  // windows spent where progress is below a quarter, longest stay
  // Seconds lost against the best static setting, as shares of its completion time, by what the job did meanwhile.
  double lost_in_trials = 0, lost_while_kept = 0, lost_in_changes = 0, lost_in_crashes = 0;
  double milliseconds_per_decision = 0;
  int decisions = 0;
  bool finished = true;
};

Outcome RunJob(const JobModel& job, Policy& policy, bool trace = false);

}  // namespace attune::bench
