// The one description of the fields of both kinds of policy: path, type, range and the member they live in. Parsing,
// messages, serialization (policy.cpp) and the CRDs (policy_crd.cpp) follow it. Internal to this room.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/api/policy/policy.h"

namespace attune::api {

enum class PolicyFieldType {
  kObject,
  kInteger,
  kNumber,
  kBoolean,
  kString,
  kChoice,       // a string out of `choices`
  kChoices,      // a list of such strings
  kQuantity,     // cpu or memory as Kubernetes writes it, a string or a whole number
  kLabels,       // name -> value
  kExpressions,  // list of LabelExpression
  kWindows,      // list of PolicyWindow
};

struct PolicyField {
  std::string path;  // "spec.limits.trialsPerHour"
  PolicyFieldType type = PolicyFieldType::kObject;
  std::string description;
  std::optional<int64_t> minimum, maximum;  // of integers and numbers
  std::vector<std::string> choices;
  bool bounds_of_knob = false;  // an object with min and max
  bool is_cpu = false;          // of quantities; otherwise memory

  std::function<void(Policy&, const Json&)> set;  // of a value that was found right
  std::function<Json(const Policy&)> get;         // null: absent

  std::string_view name() const { return std::string_view(path).substr(path.rfind('.') + 1); }
  std::string_view parent() const { return std::string_view(path).substr(0, path.rfind('.')); }
};

inline constexpr size_t kWindowsMax = 32, kExpressionsMax = 32, kValuesMax = 64;

// Parents stand before their children. Roots: "spec" and "status".
const std::vector<PolicyField>& PolicyFields();
const PolicyField& PolicyFieldAt(std::string_view path);
std::vector<const PolicyField*> PolicyChildrenOf(std::string_view path);

const std::vector<std::string>& ModeNames();       // "Off", ...
const std::vector<std::string>& OperatorNames();   // "In", ...
const std::vector<std::string>& ObjectiveNames();  // "time", "cost", "timeUnderBudget"

}  // namespace attune::api
