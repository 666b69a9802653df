#include "operator/api/pod/pod_field_text.h"

#include "operator/api/names.h"
#include "operator/api/pod/pod_rules.h"

namespace attune::api {

std::vector<std::string> NamesOf(const SchemaType& type) {
  std::vector<std::string> names(type.values.begin(), type.values.end());
  for (const SchemaField& field : type.fields) names.emplace_back(field.name);
  return names;
}

std::string TypeText(const SchemaType& owner, const SchemaField& field) {
  if (field.type != nullptr && !field.type->values.empty()) {
    const std::vector<std::string> names = NamesOf(*field.type);
    return names.size() <= kNamesListedMax ? JoinNames(names) : "a " + std::string(field.type_name);
  }
  if (field.type != nullptr) {
    std::vector<std::string> names = NamesOf(*field.type);
    const bool more = names.size() > kNamesListedMax;
    if (more) names.resize(kNamesListedMax);
    return "a mapping with " + JoinNames(names) + (more ? " ..." : "");
  }
  if (field.type_name == "string") {
    const auto* rule = FindStringRule(owner.name, field.name);
    if (rule == nullptr && IsNeeded(owner, field)) return "a string that is not empty";
    return rule == nullptr ? "a string" : rule->allowed;
  }
  if (field.type_name == "boolean") return "true or false";
  if (field.type_name == "Quantity") return "a quantity of at least 0, as 2, 500m, 1.5, 512Mi or 4G";
  if (field.type_name == "IntOrString") return "a port from 1 to 65535, or the name of one of the container's ports";
  const auto* rule = FindNumberRule(owner.name, field.name);
  if (rule == nullptr) return "a whole number";
  if (rule->maximum >= kAnyMax && rule->maximum != 1LL << 32)
    return "a whole number of at least " + std::to_string(rule->minimum);
  return "a whole number from " + std::to_string(rule->minimum) + " to " + std::to_string(rule->maximum);
}

std::string FieldText(const SchemaType& owner, const SchemaField& field) {
  if (field.shape == SchemaShape::kOne) return TypeText(owner, field);
  const std::string item = TypeText(owner, field);
  if (field.shape == SchemaShape::kMap) return "a mapping of names to values, each " + item;
  if (field.name == "env") return "a list, each item \"- {name: NAME, value: \"VALUE\"}\"";
  if (field.name == "command" || field.name == "args") return "a list of strings, as [\"--dim\", \"64\"]";
  return "a list, each item " + item;
}

std::string AllNames(const SchemaType& type) {
  std::string version(PodSchemaVersion());
  version = version.substr(1, version.rfind('.') - 1);
  return "a " + std::string(type.name) + " of Kubernetes " + version + " has " + JoinNames(NamesOf(type));
}

}  // namespace attune::api
