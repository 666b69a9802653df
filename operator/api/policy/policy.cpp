#include "operator/api/policy/policy.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "operator/api/names.h"
#include "operator/api/pod_template.h"
#include "operator/api/policy/policy_fields.h"
#include "operator/api/policy/schedule.h"
#include "operator/kube/quantity.h"

namespace attune::api {
namespace {

std::string RangeText(const PolicyField& field) {
  std::string text = field.type == PolicyFieldType::kInteger ? "a whole number" : "a number";
  if (field.minimum) text += (field.maximum ? " from " : " of at least ") + std::to_string(*field.minimum);
  if (field.maximum) text += " to " + std::to_string(*field.maximum);
  return text;
}

class PolicyParser {
 public:
  explicit PolicyParser(ParsedPolicy& parsed) : parsed_(parsed) {}

  void Members(const PolicyField& object, const Json& value) {
    std::vector<const PolicyField*> children = PolicyChildrenOf(object.path);
    std::vector<std::string> names;
    names.reserve(children.size());
    for (const PolicyField* child : children) names.emplace_back(child->name());
    CheckNames(object.path, value, names);
    for (const PolicyField* child : children) {
      const auto at = value.find(child->name());
      if (at != value.end()) Value(*child, *at);
    }
    if (object.bounds_of_knob) CheckBounds(object);
  }

 private:
  void Problem(const std::string& path, const Json& value, std::string allowed) {
    parsed_.problems.push_back({path, FoundText(value), std::move(allowed)});
  }

  void CheckNames(const std::string& path, const Json& value, const std::vector<std::string>& names) {
    for (const auto& [name, member] : value.items()) {
      if (std::ranges::find(names, name) != names.end()) continue;
      const auto nearest = NearestName(name, names);
      parsed_.problems.push_back(NameProblem(path + "." + name, nearest, JoinNames(names)));
    }
  }

  static FieldProblem NameProblem(std::string path, const std::optional<std::string>& nearest, const std::string& all) {
    FieldProblem problem{std::move(path), "an unknown field", nearest ? *nearest + " (nearest); all: " + all : all};
    problem.about_key = true;
    return problem;
  }

  void CheckBounds(const PolicyField& object) {
    const auto knob = std::ranges::find(kPolicyKnobNames, object.name());
    const KnobBounds& bounds = parsed_.policy.spec.knobs.at(static_cast<size_t>(knob - kPolicyKnobNames.begin()));
    if (!bounds.min || !bounds.max || *bounds.min <= *bounds.max) return;
    const Json found = PolicyFieldAt(object.path + ".min").get(parsed_.policy);
    const Json most = PolicyFieldAt(object.path + ".max").get(parsed_.policy);
    Problem(object.path + ".min", found, "at most " + object.path + ".max (" + FoundText(most) + ")");
  }

  void Value(const PolicyField& field, const Json& value) {
    switch (field.type) {
      case PolicyFieldType::kObject:
        return value.is_object() ? Members(field, value) : Problem(field.path, value, "a mapping");
      case PolicyFieldType::kInteger:
      case PolicyFieldType::kNumber:
        return Number(field, value);
      case PolicyFieldType::kBoolean:
        return value.is_boolean() ? field.set(parsed_.policy, value) : Problem(field.path, value, "true or false");
      case PolicyFieldType::kString:
        return value.is_string() ? field.set(parsed_.policy, value) : Problem(field.path, value, "a string");
      case PolicyFieldType::kChoice:
        if (IsChoice(field.path, value, field.choices)) field.set(parsed_.policy, value);
        return;
      case PolicyFieldType::kChoices:
        return Choices(field, value);
      case PolicyFieldType::kQuantity:
        return Quantity(field, value);
      case PolicyFieldType::kLabels:
        return Labels(field, value);
      case PolicyFieldType::kExpressions:
        return List(field, value, kExpressionsMax,
                    [&](const std::string& path, const Json& each) { return IsExpression(path, each); });
      case PolicyFieldType::kWindows:
        return List(field, value, kWindowsMax,
                    [&](const std::string& path, const Json& each) { return IsWindow(path, each); });
    }
  }

  void Number(const PolicyField& field, const Json& value) {
    const bool whole = field.type == PolicyFieldType::kInteger;
    bool fits = value.is_number() && std::isfinite(value.get<double>());
    if (fits) {
      const auto number = value.get<double>();
      fits = (!whole || (std::trunc(number) == number && std::abs(number) < 9e15)) &&
             (!field.minimum || number >= static_cast<double>(*field.minimum)) &&
             (!field.maximum || number <= static_cast<double>(*field.maximum));
    }
    if (!fits) return Problem(field.path, value, RangeText(field));
    field.set(parsed_.policy, whole ? Json(static_cast<int64_t>(value.get<double>())) : value);
  }

  bool IsChoice(const std::string& path, const Json& value, const std::vector<std::string>& choices) {
    if (value.is_string() && std::ranges::find(choices, value.get_ref<const std::string&>()) != choices.end())
      return true;
    const auto nearest =
        value.is_string() ? NearestName(value.get_ref<const std::string&>(), choices) : std::optional<std::string>();
    Problem(path, value, (nearest ? *nearest + " (nearest); all: " : "") + JoinNames(choices));
    return false;
  }

  void Choices(const PolicyField& field, const Json& value) {
    if (!value.is_array()) return Problem(field.path, value, "a list out of " + JoinNames(field.choices));
    Json right = Json::array();
    for (size_t i = 0; i < value.size(); ++i) {
      if (IsChoice(field.path + "[" + std::to_string(i) + "]", value[i], field.choices)) right.push_back(value[i]);
    }
    field.set(parsed_.policy, right);
  }

  // A whole number means what its digits mean as a string.
  void Quantity(const PolicyField& field, const Json& value) {
    const Json text = value.is_number_integer() ? Json(value.dump()) : value;
    const bool fits = text.is_string() && (field.is_cpu ? kube::ParseMillicores(text.get_ref<const std::string&>())
                                                        : kube::ParseByteCount(text.get_ref<const std::string&>()));
    if (fits) return field.set(parsed_.policy, text);
    Problem(field.path, value,
            field.is_cpu ? "an amount of cpu as in a pod's resources, such as 500m or \"2\""
                         : "an amount of memory as in a pod's resources, such as 512Mi or 2Gi");
  }

  void Labels(const PolicyField& field, const Json& value) {
    const auto is_label = [](const auto& each) { return IsLabelKey(each.key()) && each.value().is_string(); };
    bool fits = value.is_object();
    if (fits) {
      const auto items = value.items();
      fits = std::all_of(items.begin(), items.end(), is_label);
    }
    if (!fits) return Problem(field.path, value, "a mapping of label names to strings; quote the values");
    field.set(parsed_.policy, value);
  }

  template <class IsRight>
  void List(const PolicyField& field, const Json& value, size_t most, IsRight is_right) {
    if (!value.is_array() || value.size() > most)
      return Problem(field.path, value, "a list of at most " + std::to_string(most) + " entries");
    Json right = Json::array();
    for (size_t i = 0; i < value.size(); ++i) {
      if (is_right(field.path + "[" + std::to_string(i) + "]", value[i])) right.push_back(value[i]);
    }
    field.set(parsed_.policy, right);
  }

  bool HasMembers(const std::string& path, const Json& value, const std::vector<std::string>& names, size_t needed) {
    if (!value.is_object()) {
      Problem(path, value, "a mapping with " + JoinNames(names));
      return false;
    }
    CheckNames(path, value, names);
    for (size_t i = 0; i < needed; ++i) {
      if (value.contains(names[i])) continue;
      parsed_.problems.push_back({path + "." + names[i], "nothing", "a value; it is required"});
      return false;
    }
    return true;
  }

  bool IsExpression(const std::string& path, const Json& value) {
    if (!HasMembers(path, value, {"key", "operator", "values"}, 2)) return false;
    if (!value["key"].is_string() || !IsLabelKey(value["key"].get_ref<const std::string&>())) {
      Problem(path + ".key", value["key"], "the name of a label");
      return false;
    }
    if (!IsChoice(path + ".operator", value["operator"], OperatorNames())) return false;
    const bool takes_values = value["operator"] == "In" || value["operator"] == "NotIn";
    const Json values = value.value("values", Json::array());
    const auto is_string = [](const Json& each) { return each.is_string(); };
    if (values.is_array() && values.size() <= kValuesMax && std::ranges::all_of(values, is_string) &&
        takes_values == !values.empty())
      return true;
    Problem(path + ".values", value.value("values", Json()),
            takes_values ? "a list of strings, at least one" : "nothing with operator Exists or DoesNotExist");
    return false;
  }

  // A schedule that cannot be read stays: who wrote it meant to restrict something.
  bool IsWindow(const std::string& path, const Json& value) {
    if (!HasMembers(path, value, {"schedule", "mode"}, 2)) return false;
    std::string why = kScheduleWords;
    const bool is_text = value["schedule"].is_string();
    if (!is_text || !ParseSchedule(value["schedule"].get_ref<const std::string&>(), &why))
      Problem(path + ".schedule", value["schedule"], why);
    return IsChoice(path + ".mode", value["mode"], ModeNames()) && is_text;
  }

  ParsedPolicy& parsed_;
};

Json MembersToJson(std::string_view path, const Policy& policy) {
  Json object = Json::object();
  for (const PolicyField* field : PolicyChildrenOf(path)) {
    Json value = field->type == PolicyFieldType::kObject ? MembersToJson(field->path, policy) : field->get(policy);
    if (value.is_null() || (value.is_object() && value.empty())) continue;
    object[std::string(field->name())] = std::move(value);
  }
  return object;
}

bool IsKind(const Json& object, const kube::ResourceType& type) {
  return object.is_object() && kube::StringAt(object, {"kind"}) == type.kind &&
         kube::StringAt(object, {"apiVersion"}) == type.api_version();
}

void CheckTop(const Json& object, std::vector<FieldProblem>& problems) {
  static const std::vector<std::string> kTop = {"apiVersion", "kind", "metadata", "spec", "status"};
  for (const auto& [name, value] : object.items()) {
    if (std::ranges::find(kTop, name) != kTop.end()) continue;
    const auto nearest = NearestName(name, kTop);
    const std::string all = "apiVersion, kind, metadata, spec";
    FieldProblem problem{name, "an unknown field", nearest ? *nearest + " (nearest); all: " + all : all};
    problem.about_key = true;
    problems.push_back(std::move(problem));
  }
}

}  // namespace

const kube::ResourceType& TypeOf(const Policy& policy) {
  return policy.name_space.empty() ? kube::kClusterTuningPolicies : kube::kTuningPolicies;
}

std::string NameOf(const Policy& policy) {
  return TypeOf(policy).kind + " " + kube::ObjectKey{policy.name_space, policy.name}.ToString();
}

bool IsPolicy(const Json& object) {
  return IsKind(object, kube::kClusterTuningPolicies) || IsKind(object, kube::kTuningPolicies);
}

ParsedPolicy ParsePolicy(const Json& object) {
  ParsedPolicy parsed;
  auto& [policy, problems] = parsed;
  if (!IsPolicy(object)) {
    problems.push_back({"kind", object.is_object() ? FoundText(object.value("kind", Json())) : FoundText(object),
                        "ClusterTuningPolicy or TuningPolicy, of " + kube::kTuningPolicies.api_version()});
    return parsed;
  }
  CheckTop(object, problems);
  const bool of_cluster = IsKind(object, kube::kClusterTuningPolicies);
  policy.name = kube::Name(object);
  if (!of_cluster) policy.name_space = kube::Namespace(object).empty() ? "default" : kube::Namespace(object);
  policy.uid = kube::Uid(object);
  policy.generation = kube::Generation(object);
  if (!IsDnsName(policy.name)) {
    problems.push_back({"metadata.name", FoundText(policy.name),
                        "lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"});
  }
  PolicyParser parser(parsed);
  const Json spec = object.value("spec", Json());
  if (spec.is_object()) {
    parser.Members(PolicyFieldAt("spec"), spec);
  } else {
    problems.push_back({"spec", spec.is_null() ? "nothing" : FoundText(spec), "a mapping"});
  }
  if (!of_cluster && policy.spec.namespaces != LabelSelector{}) {
    problems.push_back({"spec.selector.namespaces", "a selector",
                        "nothing in a TuningPolicy, which is about its own namespace; ClusterTuningPolicy has it"});
    policy.spec.namespaces = {};
  }
  ParsedPolicy written;  // only this system writes a status: what does not fit is left at its default
  written.policy = policy;
  const Json status = object.value("status", Json());
  if (status.is_object()) PolicyParser(written).Members(PolicyFieldAt("status"), status);
  policy.status = written.policy.status;
  return parsed;
}

AllowedInPolicy AllowedAt(const std::string& path) {
  if (path.starts_with("spec.windows[") && path.ends_with("].mode")) return {JoinNames(ModeNames()), ModeNames()};
  const auto at = std::ranges::find(PolicyFields(), path.substr(0, path.find('[')), &PolicyField::path);
  if (at == PolicyFields().end()) return {};
  switch (at->type) {
    case PolicyFieldType::kInteger:
    case PolicyFieldType::kNumber:
      return {RangeText(*at), {}};
    case PolicyFieldType::kBoolean:
      return {"true or false", {}};
    case PolicyFieldType::kChoice:
    case PolicyFieldType::kChoices:
      return {JoinNames(at->choices), at->choices};
    default:
      return {};
  }
}

Json ToJson(const PolicySpec& spec) {
  Policy policy;
  policy.spec = spec;
  return MembersToJson("spec", policy);
}

Json ToJson(const PolicyStatus& status) {
  Policy policy;
  policy.status = status;
  return MembersToJson("status", policy);
}

}  // namespace attune::api
