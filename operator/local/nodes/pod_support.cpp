#include "operator/local/nodes/pod_support.h"

#include <algorithm>

#include "operator/local/containers/container_program.h"

namespace attune::local {
namespace {

using kube::Json;

enum class Effect { kUsed, kQuiet, kRefused };

struct Rule {
  std::string_view owner, field;
  Effect effect;
  std::string_view below = "";  // what the value is, where its own fields matter; of a list, each item
  const char* instead = "";     // of kRefused
};

constexpr char kWriteValue[] =
    "value: \"...\", or valueFrom.fieldRef; the variable may come from the environment of `attune run`";
constexpr char kVolumeKinds[] =
    "emptyDir, persistentVolumeClaim, secret, hostPath or a projected serviceAccountToken on this machine";

// Everything that is not listed has no effect here.
constexpr Rule kRules[] = {
    {"Pod", "containers", Effect::kUsed, "Container"},
    {"Pod", "initContainers", Effect::kUsed, "InitContainer"},
    {"Pod", "volumes", Effect::kUsed, "Volume"},
    {"Pod", "restartPolicy", Effect::kUsed},
    {"Pod", "terminationGracePeriodSeconds", Effect::kUsed},
    {"Pod", "imagePullSecrets", Effect::kQuiet},
    {"Container", "name", Effect::kUsed},
    {"Container", "image", Effect::kQuiet},
    {"Container", "imagePullPolicy", Effect::kQuiet},
    {"Container", "ports", Effect::kQuiet},
    {"Container", "command", Effect::kUsed},
    {"Container", "args", Effect::kUsed},
    {"Container", "workingDir", Effect::kUsed},
    {"Container", "env", Effect::kUsed, "Variable"},
    {"Container", "envFrom", Effect::kRefused, "", "env with the variables written out"},
    {"Container", "volumeMounts", Effect::kUsed, "Mount"},
    {"Container", "volumeDevices", Effect::kRefused, "", "volumeMounts; there are no block devices here"},
    {"Container", "resources", Effect::kUsed, "Resources"},
    {"Container", "resizePolicy", Effect::kUsed},
    {"Container", "readinessProbe", Effect::kUsed, "Probe"},
    {"Container", "terminationMessagePath", Effect::kUsed},
    {"InitContainer", "restartPolicy", Effect::kUsed},
    {"Variable", "name", Effect::kUsed},
    {"Variable", "value", Effect::kUsed},
    {"Variable", "valueFrom", Effect::kUsed, "Source"},
    {"Source", "fieldRef", Effect::kUsed, "FieldReference"},
    {"Source", "secretKeyRef", Effect::kRefused, "", kWriteValue},
    {"Source", "configMapKeyRef", Effect::kRefused, "", kWriteValue},
    {"Source", "resourceFieldRef", Effect::kRefused, "", kWriteValue},
    {"Source", "fileKeyRef", Effect::kRefused, "", kWriteValue},
    {"FieldReference", "fieldPath", Effect::kUsed},
    {"FieldReference", "apiVersion", Effect::kUsed},
    {"Mount", "name", Effect::kUsed},
    {"Mount", "mountPath", Effect::kUsed},
    {"Mount", "subPath", Effect::kUsed},
    {"Mount", "subPathExpr", Effect::kRefused, "", "subPath, without variables"},
    {"Resources", "limits", Effect::kUsed, "Limits"},
    {"Resources", "requests", Effect::kQuiet},
    {"Limits", "cpu", Effect::kUsed},
    {"Limits", "memory", Effect::kUsed},
    {"Probe", "exec", Effect::kUsed},
    {"Probe", "tcpSocket", Effect::kUsed, "Target"},
    {"Probe", "httpGet", Effect::kUsed, "Target"},
    {"Probe", "grpc", Effect::kRefused, "", "exec, httpGet or tcpSocket on this machine"},
    {"Probe", "initialDelaySeconds", Effect::kUsed},
    {"Probe", "periodSeconds", Effect::kUsed},
    {"Probe", "timeoutSeconds", Effect::kUsed},
    {"Probe", "successThreshold", Effect::kUsed},
    {"Probe", "failureThreshold", Effect::kUsed},
    {"Target", "port", Effect::kUsed},
    {"Target", "path", Effect::kUsed},
    {"Volume", "name", Effect::kUsed},
    {"Volume", "emptyDir", Effect::kUsed, "EmptyDir"},
    {"Volume", "persistentVolumeClaim", Effect::kUsed, "Claim"},
    {"Volume", "secret", Effect::kUsed, "Secret"},
    {"Volume", "hostPath", Effect::kUsed, "HostPath"},
    {"Volume", "projected", Effect::kUsed, "Projected"},
    {"Claim", "claimName", Effect::kUsed},
    {"Secret", "secretName", Effect::kUsed},
    {"HostPath", "path", Effect::kUsed},
    {"Projected", "sources", Effect::kUsed, "Projection"},
    {"Projection", "serviceAccountToken", Effect::kUsed, "Token"},
    {"Token", "path", Effect::kUsed},
    {"Token", "audience", Effect::kUsed},
    {"Token", "expirationSeconds", Effect::kUsed},
};

const Rule* FindRule(std::string_view owner, std::string_view field) {
  for (const Rule& rule : kRules) {
    if (rule.owner == owner && rule.field == field) return &rule;
  }
  return owner == "InitContainer" ? FindRule("Container", field) : nullptr;
}

class TemplateWalk {
 public:
  explicit TemplateWalk(PodSupport& support) : support_(support) {}

  void Object(std::string_view owner, const Json& value, const std::string& path) {
    if (!value.is_object()) return;
    for (const auto& [name, member] : value.items()) {
      if (member.is_null()) continue;
      const std::string at = path + "." + name;
      const Rule* rule = FindRule(owner, name);
      if (rule == nullptr) {
        Other(owner, member, at);
      } else if (rule->effect == Effect::kRefused) {
        support_.refused.push_back({at, "what this machine cannot do", rule->instead, 0, 0, true});
      } else if (!rule->below.empty()) {
        Below(rule->below, member, at);
      } else if (owner == "FieldReference" && name == "fieldPath" && member.is_string() &&
                 !IsFieldReference(member.get_ref<const std::string&>())) {
        support_.refused.push_back({at, member.dump(), FieldReferences()});
      }
    }
  }

 private:
  void Below(std::string_view owner, const Json& value, const std::string& path) {
    if (!value.is_array()) return Object(owner, value, path);
    for (size_t i = 0; i < value.size(); ++i) Object(owner, value[i], path + "[" + std::to_string(i) + "]");
  }

  void Other(std::string_view owner, const Json& value, const std::string& path) {
    if (owner == "Volume" || owner == "Projection") {
      support_.refused.push_back({path, "what this machine cannot do", kVolumeKinds, 0, 0, true});
    } else if (value != Json::object() && value != Json::array()) {
      support_.without_effect.push_back(path);
    }
  }

  PodSupport& support_;
};

// What the container's command line begins with, when that is known before the pod exists.
std::optional<Launch> LaunchBeforehand(const Json& container) {
  Launch launch;
  const Json& command = kube::At(container, {"command"});
  if (command.is_array() && !command.empty() && command.front().is_string())
    launch.command.push_back(command.front().get<std::string>());
  launch.directory = std::string(kube::StringAt(container, {"workingDir"}));
  for (const std::string& text : {launch.command.empty() ? "" : launch.command.front(), launch.directory.string()}) {
    if (text.find("$(") != std::string::npos) return std::nullopt;
    for (const Json& mount : kube::At(container, {"volumeMounts"})) {
      const std::string path(kube::StringAt(mount, {"mountPath"}));
      if (!path.empty() && text.starts_with(path)) return std::nullopt;
    }
  }
  return launch;
}

}  // namespace

PodSupport CheckPodSupport(const Json& pod_template, const std::string& path) {
  PodSupport support;
  TemplateWalk(support).Object("Pod", kube::At(pod_template, {"spec"}), path + ".spec");
  return support;
}

std::vector<api::FieldProblem> FindMissingPrograms(const Json& pod_template, const std::string& path,
                                                   std::string_view role,
                                                   const std::vector<std::filesystem::path>& program_directories) {
  std::vector<api::FieldProblem> problems;
  for (const char* list : {"initContainers", "containers"}) {
    const Json& containers = kube::At(pod_template, {"spec", list});
    for (size_t i = 0; containers.is_array() && i < containers.size(); ++i) {
      const Json& container = containers[i];
      const std::string at = path + ".spec." + list + "[" + std::to_string(i) + "].command";
      const std::optional<Launch> launch = LaunchBeforehand(container);
      if (!launch) continue;
      if (launch->command.empty() && role == "server" && kube::StringAt(container, {"name"}) == role) continue;
      const auto program = ProgramOf(*launch, container, program_directories);
      if (program.ok()) continue;
      const std::string found = launch->command.empty() ? "nothing" : Json(launch->command.front()).dump();
      problems.push_back({launch->command.empty() ? at : at + "[0]", found,
                          "a program of this machine: " + std::string(Message(program.status()))});
    }
  }
  return problems;
}

}  // namespace attune::local
