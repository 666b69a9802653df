#include "operator/api/pod/pod_rules.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "operator/api/fields.h"

namespace attune::api {
namespace {

constexpr size_t kEnvironmentNameMax = 4096;

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

constexpr std::array<std::string_view, 6> kOperatorVolumes{"attune-run", "attune-model",     "attune-token",
                                                           "attune-tls", "attune-job-token", "attune-tmp"};

template <class Rules>
auto FindRule(const Rules& rules, std::string_view type, std::string_view field) {
  const auto found = std::find_if(std::begin(rules), std::end(rules),
                                  [&](const auto& rule) { return rule.type == type && rule.field == field; });
  return found == std::end(rules) ? nullptr : &*found;
}

}  // namespace

const StringRule* FindStringRule(std::string_view type, std::string_view field) {
  return FindRule(kStringRules, type, field);
}

const NumberRule* FindNumberRule(std::string_view type, std::string_view field) {
  return FindRule(kNumberRules, type, field);
}

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

bool IsNeeded(const SchemaType& owner, const SchemaField& field) {
  return field.required || FindRule(kNeededRules, owner.name, field.name) != nullptr;
}

bool IsOperatorVolume(std::string_view name) {
  return std::find(kOperatorVolumes.begin(), kOperatorVolumes.end(), name) != kOperatorVolumes.end();
}

}  // namespace attune::api
