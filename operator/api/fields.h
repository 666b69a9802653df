// The one description of TrainingJob's fields: path, type, range, default, allowed values and the member they live in.
// Parsing, defaulting, validation messages, serialization (training_job.cpp) and the CRD (crd.cpp) all follow it, so
// they cannot disagree. Internal to this room.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/api/names.h"
#include "operator/api/training_job.h"

namespace attune::api {

enum class FieldType {
  kObject,
  kString,
  kInteger,
  kNumber,
  kBoolean,
  kChoice,        // a string out of `choices`
  kPodTemplate,   // passed to Kubernetes as it is, apart from the few rules in pod_template.h
  kMetrics,       // name -> number
  kConditions,    // list of metav1.Condition
  kMetricList,    // list of MetricStatus
  kDecisionList,  // list of TuningDecision
  kSettingList,   // list of ChosenSetting
  kLossList,      // list of MachineLoss
  kTableList,     // list of TableRows
  kRowTraceList,  // list of PodRowTrace
  kNumbers,       // list of whole numbers
  kFailureRules,  // list of FailureRule
  kQuantity,      // cpu or memory as Kubernetes writes it, a string or a whole number
};

struct Field {
  std::string path;  // "spec.goal.epochs"
  FieldType type = FieldType::kObject;
  std::string description;
  bool required = false;
  Json default_value;                       // null: none. Objects: what an absent one stands for
  std::optional<int64_t> minimum, maximum;  // of integers
  std::vector<std::string> choices;
  std::vector<std::string> later;  // choices that the design has and this version does not
  std::string pattern;             // of strings and quantities; regular expression, with the words for it
  std::string pattern_words;
  std::function<bool(const std::string&)> fits;  // what `pattern` says, for this process
  int32_t length_max = 0;                        // of strings; 0: unbounded
  bool omit_empty = false;                       // "" is not written

  std::function<void(TrainingJob&, const Json&)> set;
  std::function<Json(const TrainingJob&)> get;      // null: absent
  std::function<bool(const TrainingJob&)> present;  // objects that may be absent

  std::string_view name() const { return std::string_view(path).substr(path.rfind('.') + 1); }
  std::string_view parent() const { return std::string_view(path).substr(0, path.rfind('.')); }
};

// A rule between fields, once for the API server (CEL) and once for this process.
struct FieldRule {
  std::string path;  // of the object that `cel` calls self
  std::string cel;
  std::string message;             // names the fix
  std::string cel_field;           // the field the API server names, ".replicas"; "" the object
  std::vector<std::string> reads;  // members; a problem of one of them leaves the rule silent
  // Adds a problem when broken. Empty for rules about a change, which only the API server can see.
  std::function<void(const TrainingJob&, std::vector<FieldProblem>&)> check;
};

// Parents stand before their children. Roots: "spec" and "status".
const std::vector<Field>& Fields();
const std::vector<FieldRule>& Rules();
const Field* FindField(std::string_view path);
const std::vector<const Field*>& ChildrenOf(std::string_view path);

// "a whole number from 1 to 1024".
std::string AllowedText(const Field& field);

// A problem about the name itself: an unknown or reserved one.
inline FieldProblem NameProblem(std::string path, std::string found, std::string allowed) {
  FieldProblem problem{std::move(path), std::move(found), std::move(allowed)};
  problem.about_key = true;
  return problem;
}

}  // namespace attune::api
