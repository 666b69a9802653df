// Which ends of pods are failures of the job (spec.runPolicy.podFailurePolicy): the words and the order of Kubernetes'
// own Jobs (batch/v1, podFailurePolicy), with signals and roles beside them. The first rule that matches decides.
// Values only; failure_policy_fields.h reads and writes them, operator/controller/plan/failure_rules.h says what they
// mean for a pod.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune::api {

enum class FailureAction {
  kFailJob,  // the job is Failed at once
  kIgnore,   // another pod follows, and nothing counts for backoffLimit
  kRestart,  // another pod follows, and it counts
};

enum class FailureRole { kServer, kWorker };

// One of these numbers, or none of them. Exit codes, which are above 0, or numbers of signals.
struct NumberPattern {
  bool in = true;
  std::vector<int32_t> values;
};

struct PodConditionPattern {
  std::string type, status = "True";
};

// Exactly one of exit_codes, signals and pod_conditions says something.
struct FailureRule {
  FailureAction action = FailureAction::kRestart;
  std::vector<FailureRole> roles;  // empty: both
  std::optional<NumberPattern> exit_codes, signals;
  std::vector<PodConditionPattern> pod_conditions;  // one of them is enough
};

}  // namespace attune::api
