#include "operator/api/pod/pod_fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "operator/api/fields.h"
#include "operator/api/pod/pod_schema.h"
#include "operator/api/pod_template.h"
#include "operator/kube/quantity.h"

namespace attune::api {
namespace {

constexpr size_t kNamesListedMax = 12;  // of a longer list the nearest name helps, all of them do not
constexpr size_t kElsewhereMax = 3;     // places named for a field that stands at the wrong one
constexpr size_t kEnvironmentNameMax = 4096;

// --- what the schema cannot say

bool IsAlphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool IsLabelValue(std::string_view text) {
  if (text.empty()) return true;
  if (text.size() > kDnsLabelMax || !IsAlphanumeric(text.front()) || !IsAlphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

// "name" or "domain/name".
bool IsQualifiedName(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos && !IsDnsName(text.substr(0, slash))) return false;
  const std::string_view name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  return !name.empty() && IsLabelValue(name);
}

bool IsPortName(std::string_view text) {
  constexpr size_t kLengthMax = 15;
  return text.size() <= kLengthMax && IsDnsLabel(text) && text.find("--") == std::string_view::npos &&
         std::any_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

bool IsEnvironmentName(std::string_view text) {
  return !text.empty() && text.size() <= kEnvironmentNameMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f && c != '='; });
}

bool IsMountPath(std::string_view text) { return text.starts_with('/') && text.find(':') == std::string_view::npos; }

bool StaysBelow(std::string_view text) {
  if (text.starts_with('/')) return false;
  while (!text.empty()) {
    const size_t slash = text.find('/');
    if (text.substr(0, slash) == "..") return false;
    text.remove_prefix(slash == std::string_view::npos ? text.size() : slash + 1);
  }
  return true;
}

bool IsAbsolute(std::string_view text) { return text.starts_with('/'); }

struct StringRule {
  std::string_view type, field;
  bool (*fits)(std::string_view);
  const char* allowed;
};
constexpr char kLabelText[] = "a DNS label: lower-case letters, digits and '-', at most 63 characters";
constexpr char kObjectNameText[] = "the name of an object: lower-case letters, digits, '-' and '.'";
constexpr StringRule kStringRules[] = {
    {"Container", "name", IsDnsLabel, kLabelText},
    {"Volume", "name", IsDnsLabel, kLabelText},
    {"ContainerPort", "name", IsPortName, "at most 15 lower-case letters, digits and single '-', with a letter"},
    {"EnvVar", "name", IsEnvironmentName, "a name of printable characters without '='"},
    {"VolumeMount", "mountPath", IsMountPath, "an absolute path without ':'"},
    {"VolumeMount", "subPath", StaysBelow, "a relative path that does not leave the volume"},
    {"HostPathVolumeSource", "path", IsAbsolute, "an absolute path"},
    {"PersistentVolumeClaimVolumeSource", "claimName", IsDnsName, kObjectNameText},
    {"SecretVolumeSource", "secretName", IsDnsName, kObjectNameText},
    {"PodSpec", "serviceAccountName", IsDnsName, kObjectNameText},
    {"PodSpec", "priorityClassName", IsDnsName, kObjectNameText},
};

struct NumberRule {
  std::string_view type, field;
  int64_t minimum, maximum;
};
constexpr int64_t kPortMax = 65535, kAnyMax = std::numeric_limits<int32_t>::max();
constexpr NumberRule kNumberRules[] = {
    {"ContainerPort", "containerPort", 1, kPortMax},
    {"ContainerPort", "hostPort", 1, kPortMax},
    {"GRPCAction", "port", 1, kPortMax},
    {"Probe", "initialDelaySeconds", 0, kAnyMax},
    {"Probe", "periodSeconds", 1, kAnyMax},
    {"Probe", "timeoutSeconds", 1, kAnyMax},
    {"Probe", "successThreshold", 1, kAnyMax},
    {"Probe", "failureThreshold", 1, kAnyMax},
    {"Probe", "terminationGracePeriodSeconds", 1, std::numeric_limits<int64_t>::max()},
    {"PodSpec", "terminationGracePeriodSeconds", 0, std::numeric_limits<int64_t>::max()},
    {"PodSpec", "activeDeadlineSeconds", 1, kAnyMax},
    {"ServiceAccountTokenProjection", "expirationSeconds", 600, 1LL << 32},
};

// Fields that the schema leaves optional and the API server needs: without them an object refers to nothing.
struct NeededRule {
  std::string_view type, field;
};
constexpr NeededRule kNeededRules[] = {
    {"ConfigMapEnvSource", "name"},       {"ConfigMapKeySelector", "name"}, {"ConfigMapProjection", "name"},
    {"ConfigMapVolumeSource", "name"},    {"ExecAction", "command"},        {"LocalObjectReference", "name"},
    {"SecretEnvSource", "name"},          {"SecretKeySelector", "name"},    {"SecretProjection", "name"},
    {"SecretVolumeSource", "secretName"},
};

// Objects of which exactly one member says what they are.
struct ChoiceRule {
  std::string_view type;
  std::vector<std::string_view> members;  // empty: all
  bool may_be_none;
};
const std::vector<ChoiceRule>& ChoiceRules() {
  static const std::vector<ChoiceRule> kRules = {
      {"Volume", {}, true},  // none: an emptyDir
      {"Probe", {"exec", "grpc", "httpGet", "tcpSocket"}, false},
      {"LifecycleHandler", {}, false},
      {"EnvVarSource", {}, false},
      {"EnvVar", {"value", "valueFrom"}, true},
      {"EnvFromSource", {"configMapRef", "secretRef"}, false},
  };
  return kRules;
}

// Mounted in the role's container by the operator; other containers of the pod may mount them as well.
constexpr std::array<std::string_view, 6> kOperatorVolumes{"attune-run", "attune-model",     "attune-token",
                                                           "attune-tls", "attune-job-token", "attune-tmp"};

template <class Rules>
auto FindRule(const Rules& rules, std::string_view type, std::string_view field) {
  return std::find_if(std::begin(rules), std::end(rules),
                      [&](const auto& rule) { return rule.type == type && rule.field == field; });
}

// "" and an empty list say no more than an absent field.
bool IsNeeded(const SchemaType& owner, const SchemaField& field) {
  return field.required || FindRule(kNeededRules, owner.name, field.name) != std::end(kNeededRules);
}

// --- texts

std::string JoinNames(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

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
    const auto rule = FindRule(kStringRules, owner.name, field.name);
    if (rule == std::end(kStringRules) && IsNeeded(owner, field)) return "a string that is not empty";
    return rule == std::end(kStringRules) ? "a string" : rule->allowed;
  }
  if (field.type_name == "boolean") return "true or false";
  if (field.type_name == "Quantity") return "a quantity of at least 0, as 2, 500m, 1.5, 512Mi or 4G";
  if (field.type_name == "IntOrString") return "a port from 1 to 65535, or the name of one of the container's ports";
  const auto rule = FindRule(kNumberRules, owner.name, field.name);
  if (rule == std::end(kNumberRules)) return "a whole number";
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

// --- the check

class Checker {
 public:
  explicit Checker(std::vector<FieldProblem>& problems) : problems_(problems) {}

  void Object(const SchemaType& type, const Json& value, const std::string& path) {
    scopes_.emplace_back(&type, path);
    if (type.name == "PodSpec") volumes_ = NamesIn(value, "volumes");
    if (type.name == "Container") ports_ = NamesIn(value, "ports");
    for (const auto& [name, member] : value.items()) {
      const SchemaField* field = FindSchemaField(type, name);
      if (field == nullptr) {
        Unknown(type, path, name);
      } else if (!member.is_null()) {  // null is what an absent field is
        Value(type, *field, member, path + "." + name);
      }
    }
    for (const SchemaField& field : type.fields) {
      const auto at = value.find(field.name);
      if (IsNeeded(type, field) && (at == value.end() || at->is_null()))
        Problem(path + "." + std::string(field.name), "nothing", FieldText(type, field));
    }
    OneOf(type, value, path);
    if (type.name == "PodSpec") Unique(value, path, "volumes", "name");
    if (type.name == "PodSpec") UniqueContainers(value, path);
    if (type.name == "Container") Unique(value, path, "volumeMounts", "mountPath");
    if (type.name == "ResourceRequirements") RequestsWithinLimits(value, path);
    scopes_.pop_back();
  }

  void NamesAndValues(const Json& map, const std::string& path, bool values) {
    CheckNamesAndValues(map, path, values, problems_);
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

  // A name that is right somewhere near, then a name that is near, then all names.
  void Unknown(const SchemaType& type, const std::string& path, const std::string& name) {
    std::string allowed = Elsewhere(type, path, name);
    if (allowed.empty()) {
      const auto nearest = NearestName(name, NamesOf(type));
      allowed = nearest && type.fields.size() > kNamesListedMax
                    ? *nearest + " (nearest)"
                    : (nearest ? *nearest + " (nearest); " : "") + AllNames(type);
    }
    problems_.push_back(NameProblem(path + "." + name, "an unknown field", std::move(allowed)));
  }

  std::string Elsewhere(const SchemaType& type, const std::string& path, const std::string& name) const {
    if (type.name == "Container" || type.name == "ResourceRequirements") {
      const std::string resources = type.name == "Container" ? path + ".resources" : path;
      if (name == "cpu" || name == "memory") return "the field at " + resources + ".limits." + name;
    }
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (scope->first != &type && FindSchemaField(*scope->first, name) != nullptr)
        return "the field at " + scope->second + "." + name;
    }
    std::vector<std::string> below;
    for (const SchemaField& field : type.fields) {
      if (field.type == nullptr || field.shape == SchemaShape::kMap || FindSchemaField(*field.type, name) == nullptr)
        continue;
      below.push_back("." + std::string(field.name) + (field.shape == SchemaShape::kList ? "[]." : ".") + name);
    }
    // Of containers the ordinary ones are meant.
    if (std::find(below.begin(), below.end(), ".containers[]." + name) != below.end())
      below = {".containers[]." + name};
    if (below.empty() || below.size() > kElsewhereMax) return "";
    std::string text;
    for (const std::string& each : below) text += (text.empty() ? "the field at " : " or ") + path + each;
    return text;
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
        if (owner.name == "ResourceRequirements") ResourceNames(value, path);
        if (field.name == "nodeSelector" || field.name == "matchLabels") NamesAndValues(value, path, true);
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
    const auto rule = FindRule(kStringRules, owner.name, field.name);
    if (rule != std::end(kStringRules) && !text.empty() && !rule->fits(text))
      return Problem(path, FoundText(value), rule->allowed);
    if (text.empty() && field.shape == SchemaShape::kOne && IsNeeded(owner, field))
      return Problem(path, FoundText(value), TypeText(owner, field));
    if (owner.name == "VolumeMount" && field.name == "name") Mount(text, path);
  }

  void Mount(const std::string& volume, const std::string& path) {
    if (volumes_.contains(volume) ||
        std::find(kOperatorVolumes.begin(), kOperatorVolumes.end(), volume) != kOperatorVolumes.end())
      return;
    const std::vector<std::string> names(volumes_.begin(), volumes_.end());
    const auto nearest = NearestName(volume, names);
    std::string allowed = "a volume of this template; it has ";
    allowed += names.empty() ? "none, add it to spec.volumes" : JoinNames(names);
    Problem(path, "\"" + volume + "\", which no volume is named",
            nearest ? *nearest + " (nearest); " + allowed : allowed);
  }

  void Number(const SchemaType& owner, const SchemaField& field, const Json& value, const std::string& path) {
    const auto rule = FindRule(kNumberRules, owner.name, field.name);
    const bool bounded = rule != std::end(kNumberRules);
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
    const std::optional<double> amount = Amount(value);
    if (!amount) return Problem(path, FoundText(value), TypeText(owner, field));
    const std::string_view resource = std::string_view(path).substr(path.rfind('.') + 1);
    const bool bytes = resource == "memory" || resource == "ephemeral-storage" || resource == "storage";
    if (bytes && std::floor(*amount) != *amount)
      Problem(path, FoundText(value) + ", which is not a whole number of bytes", "whole bytes, as 512M or 512Mi");
  }

  static std::optional<double> Amount(const Json& value) {
    if (value.is_number()) return value.get<double>() >= 0 ? std::optional(value.get<double>()) : std::nullopt;
    return value.is_string() ? kube::ParseQuantity(value.get_ref<const std::string&>()) : std::nullopt;
  }

  void ResourceNames(const Json& map, const std::string& path) {
    static const std::vector<std::string> kNative = {"cpu", "memory", "ephemeral-storage"};
    for (const auto& [name, value] : map.items()) {
      if (std::find(kNative.begin(), kNative.end(), name) != kNative.end() || name.starts_with("hugepages-") ||
          (name.find('/') != std::string::npos && IsQualifiedName(name)))
        continue;
      const auto nearest = NearestName(name, kNative);
      problems_.push_back(NameProblem(
          path + "." + name, "an unknown resource",
          (nearest ? *nearest + " (nearest); all: " : "") + JoinNames(kNative) + ", hugepages-SIZE, or DOMAIN/NAME"));
    }
  }

  void RequestsWithinLimits(const Json& value, const std::string& path) {
    const Json& limits = kube::At(value, {"limits"});
    const Json& requests = kube::At(value, {"requests"});
    if (!limits.is_object() || !requests.is_object()) return;
    for (const auto& [name, request] : requests.items()) {
      const auto limit = limits.find(name);
      if (limit == limits.end()) continue;
      const auto wanted = Amount(request), most = Amount(*limit);
      if (wanted && most && *wanted > *most)
        Problem(path + ".requests." + name, FoundText(request),
                "at most limits." + name + " (" + FoundText(*limit) + ")");
    }
  }

  void OneOf(const SchemaType& type, const Json& value, const std::string& path) {
    for (const ChoiceRule& rule : ChoiceRules()) {
      if (rule.type != type.name) continue;
      std::vector<std::string> members(rule.members.begin(), rule.members.end());
      if (members.empty()) members = NamesOf(type);
      std::erase(members, "name");
      std::vector<std::string> found;
      bool unknown = false;  // perhaps the one that is missing, misspelled, which is a problem already
      for (const auto& [name, member] : value.items()) {
        unknown = unknown || FindSchemaField(type, name) == nullptr;
        if (!member.is_null() && std::find(members.begin(), members.end(), name) != members.end())
          found.push_back(name);
      }
      if (found.size() > 1) Problem(path, JoinNames(found), "one of them");
      if (!found.empty() || rule.may_be_none || unknown) continue;
      Problem(path, "nothing that says what it is",
              members.size() <= kNamesListedMax ? "one of " + JoinNames(members) : "a " + std::string(type.name));
    }
  }

  void Unique(const Json& value, const std::string& path, const char* list, const char* key) {
    std::set<std::string> seen;
    const Json& items = kube::At(value, {list});
    if (!items.is_array()) return;
    for (size_t i = 0; i < items.size(); ++i) {
      const std::string text(items[i].is_object() ? kube::StringAt(items[i], {key}) : "");
      if (!text.empty() && !seen.insert(text).second)
        Problem(path + "." + list + "[" + std::to_string(i) + "]." + key, "\"" + text + "\" again",
                "one that no other of the " + std::string(list) + " has");
    }
  }

  void UniqueContainers(const Json& value, const std::string& path) {
    std::set<std::string> seen;
    for (const char* list : {"initContainers", "containers"}) {
      const Json& items = kube::At(value, {list});
      for (size_t i = 0; items.is_array() && i < items.size(); ++i) {
        const std::string name(items[i].is_object() ? kube::StringAt(items[i], {"name"}) : "");
        if (!name.empty() && !seen.insert(name).second)
          Problem(path + "." + list + "[" + std::to_string(i) + "].name", "\"" + name + "\" again",
                  "a name that no other container of the pod has");
      }
    }
  }

  std::vector<FieldProblem>& problems_;
  std::vector<std::pair<const SchemaType*, std::string>> scopes_;  // around the object that is looked at
  std::set<std::string> volumes_, ports_;                          // of the pod, and of the container
};

}  // namespace

void CheckNamesAndValues(const Json& map, const std::string& path, bool values, std::vector<FieldProblem>& problems) {
  if (!map.is_object()) return;
  for (const auto& [name, value] : map.items()) {
    if (!IsQualifiedName(name)) {
      problems.push_back(NameProblem(path + "." + name, "a name that Kubernetes does not take",
                                     "letters, digits, '-', '_' and '.', at most 63, beginning and ending with a "
                                     "letter or digit; DOMAIN/ may stand before"));
    }
    if (values && value.is_string() && !IsLabelValue(value.get_ref<const std::string&>())) {
      problems.push_back(
          {path + "." + name, FoundText(value),
           "letters, digits, '-', '_' and '.', at most 63, beginning and ending with a letter or digit"});
    }
  }
}

void CheckPodFields(const Json& value, const std::string& path, std::vector<FieldProblem>& problems) {
  Checker checker(problems);
  const Json& metadata = kube::At(value, {"metadata"});
  checker.NamesAndValues(kube::At(metadata, {"labels"}), path + ".metadata.labels", true);
  checker.NamesAndValues(kube::At(metadata, {"annotations"}), path + ".metadata.annotations", false);
  const Json& spec = kube::At(value, {"spec"});
  if (spec.is_object()) checker.Object(*FindSchemaType("PodSpec"), spec, path + ".spec");
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
