#include "operator/api/pod/pod_fields.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "operator/api/fields.h"
#include "operator/api/names.h"
#include "operator/api/pod/label_names.h"
#include "operator/api/pod/pod_field_text.h"
#include "operator/api/pod/pod_object_rules.h"
#include "operator/api/pod/pod_resource_fields.h"
#include "operator/api/pod/pod_rules.h"
#include "operator/api/pod/pod_schema.h"
#include "operator/api/pod/unknown_field.h"
#include "operator/api/pod_template.h"

namespace attune::api {
namespace {

// Walks a template along its schema; remembers what a field may refer to.
class PodFieldChecker {
 public:
  explicit PodFieldChecker(std::vector<FieldProblem>& problems) : problems_(problems) {}

  void Object(const SchemaType& type, const Json& value, const std::string& path) {
    scopes_.emplace_back(&type, path);
    if (type.name == "PodSpec") volumes_ = NamesIn(value, "volumes");
    if (type.name == "Container") ports_ = NamesIn(value, "ports");
    for (const auto& [name, member] : value.items()) {
      const SchemaField* field = FindSchemaField(type, name);
      if (field == nullptr) {
        problems_.push_back(NameProblem(path + "." + name, "an unknown field", InsteadOfUnknown(scopes_, name)));
      } else if (!member.is_null()) {  // null is what an absent field is
        Value(type, *field, member, path + "." + name);
      }
    }
    for (const SchemaField& field : type.fields) {
      const auto at = value.find(field.name);
      if (IsNeeded(type, field) && (at == value.end() || at->is_null()))
        Problem(path + "." + std::string(field.name), "nothing", FieldText(type, field));
    }
    CheckChoice(type, value, path, problems_);
    CheckUnique(type, value, path, problems_);
    if (type.name == "ResourceRequirements") CheckRequestsWithinLimits(value, path, problems_);
    scopes_.pop_back();
  }

 private:
  void Problem(const std::string& path, std::string found, std::string allowed) {
    problems_.push_back({path, std::move(found), std::move(allowed)});
  }

  static std::set<std::string> NamesIn(const Json& object, const char* list) {
    std::set<std::string> names;
    for (const Json& item : kube::At(object, {list})) {
      if (item.is_object()) names.emplace(kube::StringAt(item, {"name"}));
    }
    return names;
  }

  void Value(const SchemaType& owner, const SchemaField& field, const Json& value, const std::string& path) {
    switch (field.shape) {
      case SchemaShape::kOne:
        return One(owner, field, value, path);
      case SchemaShape::kList:
        if (!value.is_array()) return Problem(path, FoundText(value), FieldText(owner, field));
        if (field.name == "command") Program(owner, field, value, path);
        for (size_t i = 0; i < value.size(); ++i) One(owner, field, value[i], path + "[" + std::to_string(i) + "]");
        return;
      case SchemaShape::kMap:
        if (!value.is_object()) return Problem(path, FoundText(value), FieldText(owner, field));
        if (owner.name == "ResourceRequirements") CheckResourceNames(value, path, problems_);
        if (field.name == "nodeSelector" || field.name == "matchLabels")
          CheckNamesAndValues(value, path, true, problems_);
        for (const auto& [name, member] : value.items()) One(owner, field, member, path + "." + name);
        return;
    }
  }

  // The first part of a command names a program; empty arguments after it are arguments.
  void Program(const SchemaType& owner, const SchemaField& field, const Json& command, const std::string& path) {
    if (command.empty() && IsNeeded(owner, field)) Problem(path, FoundText(command), FieldText(owner, field));
    if (!command.empty() && command.front() == "")
      Problem(path + "[0]", "\"\"", "the name or the path of a program; without command the image's own runs");
  }

  void One(const SchemaType& owner, const SchemaField& field, const Json& value, const std::string& path) {
    if (field.type != nullptr && field.type->values.empty()) {
      return value.is_object() ? Object(*field.type, value, path)
                               : Problem(path, FoundText(value), TypeText(owner, field));
    }
    if (field.type != nullptr) return Enumeration(owner, field, value, path);
    if (field.type_name == "string") return String(owner, field, value, path);
    if (field.type_name == "Quantity") return Quantity(owner, field, value, path);
    if (field.type_name == "IntOrString") return Port(owner, field, value, path);
    if (field.type_name == "boolean" && !value.is_boolean()) Problem(path, FoundText(value), TypeText(owner, field));
    if (field.type_name == "int32" || field.type_name == "int64") Number(owner, field, value, path);
  }

  void Enumeration(const SchemaType& owner, const SchemaField& field, const Json& value, const std::string& path) {
    const std::vector<std::string> names = NamesOf(*field.type);
    if (value == "" || std::any_of(names.begin(), names.end(), [&](const std::string& name) { return value == name; }))
      return;
    std::string allowed = TypeText(owner, field);
    const auto nearest =
        value.is_string() ? NearestName(value.get_ref<const std::string&>(), names) : std::optional<std::string>();
    if (nearest) allowed = *nearest + " (nearest); all: " + allowed;
    Problem(path, FoundText(value), allowed);
  }

  void String(const SchemaType& owner, const SchemaField& field, const Json& value, const std::string& path) {
    if (!value.is_string()) {
      const bool scalar = value.is_number() || value.is_boolean();
      return Problem(path, FoundText(value), scalar ? "a string: \"" + value.dump() + "\"" : TypeText(owner, field));
    }
    const auto& text = value.get_ref<const std::string&>();
    const auto* rule = FindStringRule(owner.name, field.name);
    if (rule != nullptr && !text.empty() && !rule->fits(text)) return Problem(path, FoundText(value), rule->allowed);
    if (text.empty() && field.shape == SchemaShape::kOne && IsNeeded(owner, field))
      return Problem(path, FoundText(value), TypeText(owner, field));
    if (owner.name == "VolumeMount" && field.name == "name") Mount(text, path);
  }

  void Mount(const std::string& volume, const std::string& path) {
    if (volumes_.contains(volume) || IsOperatorVolume(volume)) return;
    const std::vector<std::string> names(volumes_.begin(), volumes_.end());
    const auto nearest = NearestName(volume, names);
    std::string allowed = "a volume of this template; it has ";
    allowed += names.empty() ? "none, add it to spec.volumes" : JoinNames(names);
    Problem(path, "\"" + volume + "\", which no volume is named",
            nearest ? *nearest + " (nearest); " + allowed : allowed);
  }

  void Number(const SchemaType& owner, const SchemaField& field, const Json& value, const std::string& path) {
    const auto* rule = FindNumberRule(owner.name, field.name);
    const bool bounded = rule != nullptr;
    const int64_t minimum = bounded ? rule->minimum : field.type_name == "int32" ? -kAnyMax - 1 : INT64_MIN;
    const int64_t maximum = bounded ? rule->maximum : field.type_name == "int32" ? kAnyMax : INT64_MAX;
    const bool fits = value.is_number_unsigned() ? value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)
                                                 : value.is_number_integer();
    if (!fits || value.get<int64_t>() < minimum || value.get<int64_t>() > maximum)
      Problem(path, FoundText(value), TypeText(owner, field));
  }

  // IntOrString: in a pod template always a port.
  void Port(const SchemaType& owner, const SchemaField& field, const Json& value, const std::string& path) {
    if (value.is_number_integer()) {
      if (value.get<int64_t>() < 1 || value.get<int64_t>() > kPortMax)
        Problem(path, FoundText(value), TypeText(owner, field));
    } else if (!value.is_string()) {
      Problem(path, FoundText(value), TypeText(owner, field));
    } else if (const auto& name = value.get_ref<const std::string&>(); !ports_.contains(name)) {
      const std::vector<std::string> names(ports_.begin(), ports_.end());
      const auto nearest = NearestName(name, names);
      Problem(path, FoundText(value), (nearest ? *nearest + " (nearest); " : "") + TypeText(owner, field));
    }
  }

  void Quantity(const SchemaType& owner, const SchemaField& field, const Json& value, const std::string& path) {
    const std::optional<double> amount = ResourceAmount(value);
    if (!amount) return Problem(path, FoundText(value), TypeText(owner, field));
    const std::string_view resource = std::string_view(path).substr(path.rfind('.') + 1);
    const bool bytes = resource == "memory" || resource == "ephemeral-storage" || resource == "storage";
    if (bytes && std::floor(*amount) != *amount)
      Problem(path, FoundText(value) + ", which is not a whole number of bytes", "whole bytes, as 512M or 512Mi");
  }

  std::vector<FieldProblem>& problems_;
  SchemaScopes scopes_;                    // around the object that is looked at, and that object
  std::set<std::string> volumes_, ports_;  // of the pod, and of the container
};

}  // namespace

void CheckPodFields(const Json& value, const std::string& path, std::vector<FieldProblem>& problems) {
  const Json& metadata = kube::At(value, {"metadata"});
  CheckNamesAndValues(kube::At(metadata, {"labels"}), path + ".metadata.labels", true, problems);
  CheckNamesAndValues(kube::At(metadata, {"annotations"}), path + ".metadata.annotations", false, problems);
  const Json& spec = kube::At(value, {"spec"});
  if (spec.is_object()) PodFieldChecker(problems).Object(*FindSchemaType("PodSpec"), spec, path + ".spec");
}

std::string AllowedInPod(const std::string& field_path) {
  const SchemaType* type = FindSchemaType("PodTemplateSpec");
  std::string_view rest(field_path);
  while (type != nullptr && !rest.empty()) {
    const size_t end = std::min(rest.find('.'), rest.find('['));
    const SchemaField* field = FindSchemaField(*type, rest.substr(0, end));
    if (field == nullptr) return "";
    rest.remove_prefix(std::min(end, rest.size()));
    const bool item = rest.starts_with('[') || (field->shape == SchemaShape::kMap && !rest.empty());
    if (item) rest.remove_prefix(std::min(rest.find('[') == 0 ? rest.find(']') + 1 : rest.find('.', 1), rest.size()));
    if (rest.starts_with('.')) rest.remove_prefix(1);
    if (rest.empty()) return item ? TypeText(*type, *field) : FieldText(*type, *field);
    type = field->type;
  }
  return "";
}

}  // namespace attune::api
