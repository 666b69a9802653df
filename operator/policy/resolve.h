// What tuning may do with one job, from all policies that select it. Pure: the policies, the labels and the time are
// arguments. The stricter rule wins, field by field, whatever the order in which policies came; every field says which
// object its value came from and what it overruled.
//
//   const Effective effective = Resolve(job, policies, now);
//   job.spec.tuning = Restricted(job.spec.tuning, effective);
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/time_source.h"
#include "operator/api/policy/policy.h"
#include "operator/policy/knob_range.h"

namespace attune::policy {

struct JobFacts {
  std::string name_space;
  api::Labels labels;
  // Unset: not readable. A policy that selects namespaces by label is in force then: the stricter reading.
  std::optional<api::Labels> namespace_labels;
  api::Tuning tuning;
  bool states_mode = true, states_objective = true;  // otherwise defaults of policies apply
};

// A value that counted for less than the one in force.
struct Overruled {
  std::string value, from;
  friend bool operator==(const Overruled&, const Overruled&) = default;
};

// One row of `attune policy explain`.
struct FieldInForce {
  std::string field;        // "mode", "knobs.workers.max", "limits.trialsPerHour"
  std::string value, from;  // from: "ClusterTuningPolicy night", "the job"
  std::vector<Overruled> overruled;
  friend bool operator==(const FieldInForce&, const FieldInForce&) = default;
};

// Rules that leave nothing: the job keeps what it has there.
struct Conflict {
  std::string field;
  std::vector<std::string> between;  // policies, perhaps "the job"
  std::string text;
  friend bool operator==(const Conflict&, const Conflict&) = default;
};

struct Effective {
  std::vector<std::string> policies;  // that select the job, in order
  api::TuningMode mode = api::TuningMode::kOff;
  api::ObjectiveKind objective = api::ObjectiveKind::kTime;
  std::optional<double> core_hour, gib_hour, budget;
  std::array<KnobRange, api::kPolicyKnobs> knobs;
  std::optional<int64_t> trials_per_hour, moves_per_hour, cool_down_seconds, crashes_per_job;
  std::optional<int64_t> concurrent_changes_per_namespace;
  std::optional<int64_t> millicores_per_namespace, bytes_per_namespace;
  std::optional<double> min_gain_percent, certainty;
  bool shrinks_now = false;
  std::vector<FieldInForce> fields;
  std::vector<Conflict> conflicts;
  std::optional<WallTime> changes_at;  // a window begins or ends
  friend bool operator==(const Effective&, const Effective&) = default;

  const KnobRange& Of(api::PolicyKnob knob) const { return knobs.at(static_cast<size_t>(knob)); }
};

bool Selects(const api::Policy& policy, const JobFacts& job);
Effective Resolve(const JobFacts& job, std::vector<api::Policy> policies, WallTime now);

// From what touches least to what touches most.
int Reach(api::TuningMode mode);

// `tuning` with the mode, objective, prices and budget in force; what acts on findings by itself is held to the mode.
api::Tuning Restricted(api::Tuning tuning, const Effective& effective);

}  // namespace attune::policy
