// `attune policy test FILE`: which jobs would change, and how, if the policies of a file were applied. Each job is
// resolved with the policies there are and with those there would be; pure but for TryPolicies().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time_source.h"
#include "cli/policies/policy_sources.h"
#include "operator/api/policy/policy.h"
#include "operator/kube/object.h"
#include "operator/policy/resolve.h"
#include "operator/policy/windows.h"

namespace attune::cli {

// The value in force of one field; absent: nothing is said about it.
struct FieldChange {
  std::string field;
  std::optional<std::string> before, after;
  std::string from;  // of `after`; without one, of `before`
};

// A knob that the spec sets outside of the bounds that there would be.
struct KnobOutside {
  std::string knob, present, nearest;
  bool at_once = false;  // it is brought to `nearest` (ShrinkNow); otherwise it stays until it is changed
  friend bool operator==(const KnobOutside&, const KnobOutside&) = default;
};

struct JobChange {
  kube::ObjectKey job;
  std::vector<FieldChange> fields;
  std::vector<KnobOutside> outside;           // that are not so already
  std::vector<std::string> conflicts, ended;  // of policies: new ones, and those that there would be no more
  bool empty() const { return fields.empty() && outside.empty() && conflicts.empty() && ended.empty(); }
};

// What one object of the file is.
struct TriedPolicy {
  std::string name;
  bool replaces = false;  // one that is there
  size_t selects = 0;     // jobs
};

// A window that does not hold now.
struct LaterChange {
  policy::WindowNow window;
  size_t jobs = 0;  // that have a lower mode from then on
};

struct PolicyPreview {
  std::vector<TriedPolicy> policies;
  std::vector<JobChange> changed;
  std::vector<LaterChange> later;
  size_t unchanged = 0, ended = 0;  // jobs
  std::vector<std::string> notes;
};

struct PreviewInput {
  std::vector<api::Policy> present, proposed;
  std::vector<kube::Json> jobs;
  NamespaceLabels namespaces;
  std::vector<std::string> notes = {};
};
PolicyPreview PreviewPolicies(PreviewInput input, WallTime now);

// The same with what the cluster has. Policies of other namespaces than those proposed are not read.
StatusOr<PolicyPreview> TryPolicies(kube::Api& api, std::vector<api::Policy> proposed, const std::string& own_namespace,
                                    WallTime now);

std::string ToText(const PolicyPreview& preview, WallTime now);
kube::Json ToJson(const PolicyPreview& preview);

}  // namespace attune::cli
