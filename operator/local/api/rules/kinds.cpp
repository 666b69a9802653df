#include "operator/local/api/rules/kinds.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "operator/local/api/rules/pod_rules.h"

namespace attune::local {
namespace {

using kube::Json;
using kube::ResourceType;

constexpr size_t kAnnotationsBytesMax = 256 << 10;

Status Invalid(const KindInfo& kind, const Json& object, std::string_view field, std::string_view problem) {
  return Error(StatusCode::kInvalidArgument,
               absl::StrCat(kind.type.kind, " \"", std::string(kube::Name(object)),
                            "\" is invalid: ", std::string(field), ": ", std::string(problem)));
}

void Default(Json& object, const char* field, Json value) {
  if (!object.contains(field)) object[field] = std::move(value);
}

void SetContainerDefaults(Json& container) {
  if (!container.is_object()) return;
  Default(container, "imagePullPolicy", "IfNotPresent");
  Default(container, "terminationMessagePath", "/dev/termination-log");
  Default(container, "terminationMessagePolicy", "File");
  SetResourceDefaults(container);
}

void SetPodDefaults(Json& pod) {
  if (!pod.contains("spec") || !pod["spec"].is_object()) return;
  Json& spec = pod["spec"];
  Default(spec, "restartPolicy", "Always");
  Default(spec, "terminationGracePeriodSeconds", 30);
  Default(spec, "dnsPolicy", "ClusterFirst");
  Default(spec, "schedulerName", "default-scheduler");
  for (const char* list : {"containers", "initContainers"}) {
    if (!spec.contains(list) || !spec[list].is_array()) continue;
    for (Json& container : spec[list]) SetContainerDefaults(container);
  }
  Default(pod, "status", Json::object());
  Default(pod["status"], "phase", "Pending");
  Default(pod["status"], "qosClass", QosClass(pod));
}

Status ValidateContainers(const KindInfo& kind, const Json& pod, const char* list, std::set<std::string>& names) {
  size_t index = 0;
  for (const Json& container : kube::At(pod, {"spec", list})) {
    const std::string field = absl::StrCat("spec.", list, "[", index++, "].name");
    const std::string name(kube::StringAt(container, {"name"}));
    if (name.empty()) return Invalid(kind, pod, field, "Required value");
    if (!IsDnsLabel(name)) return Invalid(kind, pod, field, "Invalid value: \"" + name + "\": must be a DNS label");
    if (!names.insert(name).second) return Invalid(kind, pod, field, "Duplicate value: \"" + name + "\"");
  }
  return OkStatus();
}

Status ValidatePod(const KindInfo& kind, const Json& pod) {
  const Json& containers = kube::At(pod, {"spec", "containers"});
  if (!containers.is_array() || containers.empty()) return Invalid(kind, pod, "spec.containers", "Required value");
  std::set<std::string> names;
  RETURN_IF_ERROR(ValidateContainers(kind, pod, "containers", names));
  RETURN_IF_ERROR(ValidateContainers(kind, pod, "initContainers", names));
  const std::string_view policy = kube::StringAt(pod, {"spec", "restartPolicy"});
  if (policy != "Always" && policy != "OnFailure" && policy != "Never") {
    return Invalid(
        kind, pod, "spec.restartPolicy",
        "Unsupported value: \"" + std::string(policy) + "\": supported values: \"Always\", \"OnFailure\", \"Never\"");
  }
  if (kube::IntegerAt(pod, {"spec", "terminationGracePeriodSeconds"}) < 0) {
    return Invalid(kind, pod, "spec.terminationGracePeriodSeconds", "Invalid value: must be non-negative");
  }
  return CheckPodResources(pod);
}

void SetServiceDefaults(Json& service) {
  if (!service.contains("spec") || !service["spec"].is_object()) return;
  Json& spec = service["spec"];
  Default(spec, "type", "ClusterIP");
  Default(spec, "sessionAffinity", "None");
  if (!spec.contains("ports") || !spec["ports"].is_array()) return;
  for (Json& port : spec["ports"]) {
    if (!port.is_object()) continue;
    Default(port, "protocol", "TCP");
    if (port.contains("port")) Default(port, "targetPort", port["port"]);
  }
}

KindInfo Plain(ResourceType type, std::string singular, std::vector<std::string> short_names = {},
               bool has_status = true) {
  KindInfo kind;
  kind.type = std::move(type);
  kind.singular = std::move(singular);
  kind.short_names = std::move(short_names);
  kind.has_status = has_status;
  return kind;
}

KindInfo PodKind() {
  KindInfo kind = Plain(kube::kPods, "pod", {"po"});
  kind.set_defaults = SetPodDefaults;
  kind.validate = [kind](const Json& pod) { return ValidatePod(kind, pod); };
  kind.columns = {{"Status", "string", {"status", "phase"}},
                  {"IP", "string", {"status", "podIP"}},
                  {"Age", "date", {"metadata", "creationTimestamp"}}};
  return kind;
}

bool IsLabelText(std::string_view text, size_t size_max) {
  if (text.size() > size_max) return false;
  const auto alnum = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); };
  if (text.empty()) return true;
  if (!alnum(text.front()) || !alnum(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) { return alnum(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsQualifiedName(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return !name.empty() && IsLabelText(name, 63);
  return IsDnsSubdomain(name.substr(0, slash)) && slash + 1 < name.size() && IsLabelText(name.substr(slash + 1), 63);
}

}  // namespace

bool IsDnsLabel(std::string_view name) {
  const auto allowed = [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) || absl::ascii_isdigit(static_cast<unsigned char>(c));
  };
  if (name.empty() || name.size() > 63 || !allowed(name.front()) || !allowed(name.back())) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) { return allowed(c) || c == '-'; });
}

bool IsDnsSubdomain(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  while (true) {
    const size_t dot = name.find('.');
    const std::string_view part = name.substr(0, dot);  // no length limit of its own in Kubernetes' rule
    if (part.empty() || part.front() == '-' || part.back() == '-') return false;
    if (part.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string_view::npos) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

bool IsDns1035Label(std::string_view name) {
  return IsDnsLabel(name) && absl::ascii_islower(static_cast<unsigned char>(name.front()));
}

Status ValidateMetadata(const KindInfo& kind, const Json& object) {
  const std::string name(kube::Name(object));
  if (name.empty()) return Invalid(kind, object, "metadata.name", "Required value: name or generateName is required");
  const bool ok = kind.type.kind == "Service" ? IsDns1035Label(name)
                  : kind.label_name           ? IsDnsLabel(name)
                                              : IsDnsSubdomain(name);
  if (!ok) {
    return Invalid(kind, object, "metadata.name",
                   "Invalid value: \"" + name + "\": must consist of lower case alphanumeric characters, '-'" +
                       (kind.label_name ? "" : " or '.'") + ", and must start and end with an alphanumeric character");
  }
  const Json& labels = kube::At(object, {"metadata", "labels"});
  if (!labels.is_null() && !labels.is_object())
    return Invalid(kind, object, "metadata.labels", "Invalid value: must be a map");
  for (const auto& [label, value] : labels.items()) {
    if (!value.is_string())
      return Invalid(kind, object, "metadata.labels", "Invalid value: \"" + label + "\": values are strings");
    if (!IsQualifiedName(label)) return Invalid(kind, object, "metadata.labels", "Invalid value: \"" + label + "\"");
    if (!IsLabelText(value.get_ref<const std::string&>(), 63)) {
      return Invalid(kind, object, "metadata.labels",
                     "Invalid value: \"" + value.get<std::string>() +
                         "\": a valid label is at most 63 alphanumeric characters, '-', '_' or '.'");
    }
  }
  size_t annotation_bytes = 0;
  const Json& annotations = kube::At(object, {"metadata", "annotations"});
  if (!annotations.is_null() && !annotations.is_object())
    return Invalid(kind, object, "metadata.annotations", "Invalid value: must be a map");
  for (const auto& [annotation, value] : annotations.items()) {
    if (!value.is_string())
      return Invalid(kind, object, "metadata.annotations", "Invalid value: \"" + annotation + "\": values are strings");
    annotation_bytes += annotation.size() + value.get_ref<const std::string&>().size();
  }
  if (annotation_bytes > kAnnotationsBytesMax)
    return Invalid(kind, object, "metadata.annotations", "Too long: may not be more than 262144 bytes");
  for (const Json& finalizer : kube::At(object, {"metadata", "finalizers"})) {
    if (!finalizer.is_string() || !IsQualifiedName(finalizer.get_ref<const std::string&>())) {
      return Invalid(kind, object, "metadata.finalizers", "Invalid value: " + finalizer.dump());
    }
  }
  return OkStatus();
}

std::vector<KindInfo> BuiltInKinds() {
  std::vector<KindInfo> kinds;
  kinds.push_back(PodKind());
  KindInfo service = Plain(kube::kServices, "service", {"svc"});
  service.label_name = true;
  service.set_defaults = SetServiceDefaults;
  kinds.push_back(std::move(service));
  kinds.push_back(Plain(kube::kNodes, "node", {"no"}));
  KindInfo name_space = Plain(kube::kNamespaces, "namespace", {"ns"});
  name_space.label_name = true;
  kinds.push_back(std::move(name_space));
  KindInfo events = Plain(kube::kEvents, "event", {"ev"}, false);
  events.columns = {{"Last Seen", "date", {"metadata", "creationTimestamp"}},
                    {"Type", "string", {"type"}},
                    {"Reason", "string", {"reason"}},
                    {"Object", "string", {"regarding", "name"}},
                    {"Message", "string", {"note"}}};
  kinds.push_back(std::move(events));
  kinds.push_back(Plain(kube::kTokenReviews, "tokenreview", {}, false));
  kinds.push_back(Plain({"", "v1", "configmaps", "ConfigMap"}, "configmap", {"cm"}, false));
  kinds.push_back(Plain({"", "v1", "secrets", "Secret"}, "secret", {}, false));
  kinds.push_back(Plain({"", "v1", "serviceaccounts", "ServiceAccount"}, "serviceaccount", {"sa"}, false));
  kinds.push_back(
      Plain({"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"}, "persistentvolumeclaim", {"pvc"}));
  kinds.push_back(Plain({"coordination.k8s.io", "v1", "leases", "Lease"}, "lease", {}, false));
  kinds.push_back(
      Plain({"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"}, "poddisruptionbudget", {"pdb"}));
  for (const kube::ResourceType& type : {kube::kTuningPolicies, kube::kClusterTuningPolicies}) {
    KindInfo policies =
        Plain(type, type.namespaced ? "tuningpolicy" : "clustertuningpolicy", {type.namespaced ? "tp" : "ctp"});
    policies.custom = true;
    kinds.push_back(std::move(policies));
  }
  // Kept, and enforced by nothing: pods of one machine have loopback addresses.
  kinds.push_back(Plain({"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"}, "networkpolicy", {"netpol"}));
  return kinds;
}

KindInfo TrainingJobKind(std::function<Status(const Json&)> validate) {
  KindInfo kind = Plain(kube::kTrainingJobs, "trainingjob", {"tj"});
  kind.custom = true;
  kind.scale =
      ScalePaths{{"spec", "workers", "replicas"}, {"status", "workers", "replicas"}, {"status", "workerSelector"}};
  kind.columns = {{"Phase", "string", {"status", "phase"}},
                  {"Servers", "string", {"status", "display", "servers"}},
                  {"Workers", "string", {"status", "display", "workers"}},
                  {"Progress", "string", {"status", "display", "progress"}},
                  {"Loss", "string", {"status", "display", "loss"}},
                  {"Rate", "string", {"status", "display", "rate"}},
                  {"Remaining", "string", {"status", "display", "remaining"}},
                  {"Age", "date", {"metadata", "creationTimestamp"}}};
  kind.set_defaults = [](Json& job) {
    // The schema's default of the field that /scale writes; everything else is optional in the schema.
    if (!job.contains("spec") || !job["spec"].is_object()) return;
    Json& spec = job["spec"];
    if (!spec.contains("workers")) spec["workers"] = Json::object();
    if (spec["workers"].is_object()) Default(spec["workers"], "replicas", 1);
  };
  kind.validate = std::move(validate);
  return kind;
}

}  // namespace attune::local
