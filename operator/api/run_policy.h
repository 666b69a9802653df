// How a job begins, what happens on failure, on leaving and at the end: spec.startPolicy and spec.runPolicy.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operator/api/failure/failure_policy.h"

namespace attune::api {

enum class CleanPods { kNone, kRunning, kAll };  // pods removed when the job has ended

// When a job has succeeded.
enum class SuccessPolicy {
  kClosingWorkDone,  // the goal is reached, and what follows it (evaluation, saving the model) has ended well
  kGoalReached,      // at once; what follows is not waited for
};

struct RunPolicy {
  int32_t backoff_limit = 3;  // restarts of failed workers, all together
  SuccessPolicy success_policy = SuccessPolicy::kClosingWorkDone;
  std::vector<FailureRule> failure_rules;  // which ends count for it; the first that matches decides
  std::optional<int64_t> ttl_seconds_after_finished;
  std::optional<int64_t> active_deadline_seconds;  // then it is Failed; begins again when it has been suspended
  int64_t drain_seconds = 60;                      // how long a leaving worker may finish what it has in hand
  CleanPods clean_pods = CleanPods::kRunning;
  // What a job that stands still waits for is restarted after so long; 0: never.
  int64_t progress_deadline_seconds = 600;
  // The last rung of a new size: all pods are made again from a checkpoint where nothing else gives it to them.
  bool restart_to_resize = false;
};

struct StartPolicy {
  // All pods find a machine within so long, or those that have are given back and it is tried again; absent: each
  // starts when it can.
  std::optional<int64_t> gang_timeout_seconds;
};

}  // namespace attune::api
