// What follows when a part of a job has a problem: spec.tuning.findings. What is found: operator/tuner/detectors.h.
#pragma once

namespace attune::api {

enum class FindingPolicy {
  kByMode,  // acts where spec.tuning.mode allows it, and is reported elsewhere
  kAct,
  kReport,
  kOff,  // not even reported
};

struct FindingPolicies {
  FindingPolicy memory = FindingPolicy::kByMode;
  FindingPolicy straggler = FindingPolicy::kByMode;
  FindingPolicy hot_server = FindingPolicy::kByMode;  // the operator does nothing about it; kOff: not reported
};

}  // namespace attune::api
