// What tuning may do on a shared cluster: ClusterTuningPolicy (of all namespaces) and TuningPolicy (of its own), group
// attune.dev, as C++ values. crds/ holds the same as schemas; tests keep them equal. What follows from several policies
// for one job: operator/policy/resolve.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/api/policy/label_selector.h"
#include "operator/api/training_job.h"

namespace attune::api {

// The knobs that a policy can bound, by their names in a manifest. CPU is in millicores.
enum class PolicyKnob { kServers, kWorkers, kThreads, kSlack, kServerCpu, kWorkerCpu };
inline constexpr size_t kPolicyKnobs = 6;
inline constexpr std::array<std::string_view, kPolicyKnobs> kPolicyKnobNames = {"servers", "workers",   "threads",
                                                                                "slack",   "serverCpu", "workerCpu"};

struct KnobBounds {
  std::optional<int64_t> min, max;
  bool forbidden = false;  // the tuner leaves the knob as it is
  friend bool operator==(const KnobBounds&, const KnobBounds&) = default;
};

// While the schedule holds (schedule.h), no more than this mode.
struct PolicyWindow {
  std::string schedule;
  TuningMode mode = TuningMode::kRecommend;
  friend bool operator==(const PolicyWindow&, const PolicyWindow&) = default;
};

// What happens to a job that runs outside of the bounds: it is left there, or brought into them.
enum class OnViolation { kKeep, kShrinkNow };

// Absent everywhere: no word about it.
struct PolicySpec {
  LabelSelector namespaces, jobs;
  std::vector<TuningMode> allowed_modes;  // empty: all
  std::optional<TuningMode> default_mode;
  std::optional<ObjectiveKind> default_objective;
  std::optional<double> core_hour, gib_hour, budget_per_job;
  std::array<KnobBounds, kPolicyKnobs> knobs;
  std::optional<int64_t> trials_per_hour, moves_per_hour, cool_down_seconds, crashes_per_job;
  std::optional<int64_t> concurrent_changes_per_namespace;
  std::optional<int64_t> millicores_per_namespace, bytes_per_namespace;
  std::optional<double> min_gain_percent, certainty;
  std::vector<PolicyWindow> windows;
  std::optional<OnViolation> on_violation;
  friend bool operator==(const PolicySpec&, const PolicySpec&) = default;
};

// Written by the operator for people.
struct PolicyStatus {
  int64_t observed_generation = 0;
  int64_t jobs = 0, conflicts = 0;  // running jobs that it selects, and those of them with a conflict it is part of
  std::string message;              // what is wrong with the policy, or the first conflict; "": nothing
  friend bool operator==(const PolicyStatus&, const PolicyStatus&) = default;
};

struct Policy {
  std::string name;
  std::string name_space;  // "": a ClusterTuningPolicy
  std::string uid;
  int64_t generation = 0;
  PolicySpec spec;
  PolicyStatus status;
};

// "ClusterTuningPolicy night", "TuningPolicy research/night".
std::string NameOf(const Policy& policy);
const kube::ResourceType& TypeOf(const Policy& policy);
bool IsPolicy(const Json& object);

// JSON (API server or converted YAML) -> values. All problems at once; empty means valid. What does not fit is left out
// of the values, except a window whose schedule cannot be read: it stays, and holds always (the stricter reading).
struct ParsedPolicy {
  Policy policy;
  std::vector<FieldProblem> problems;
};
ParsedPolicy ParsePolicy(const Json& object);
// What the field at the path of a manifest takes, "spec.mode.allowed[0]" included. Of names the list of them; "" where
// it takes strings, or is none.
struct AllowedInPolicy {
  std::string text;
  std::vector<std::string> choices;
};
AllowedInPolicy AllowedAt(const std::string& path);

Json ToJson(const PolicySpec& spec);
Json ToJson(const PolicyStatus& status);

// CustomResourceDefinitions from the table of fields.
Json ClusterTuningPolicyCrd();
Json TuningPolicyCrd();

}  // namespace attune::api
