#include <algorithm>
#include <cmath>
#include <set>

#include "cli/doctor/cluster_answers.h"
#include "operator/api/crd.h"
#include "operator/api/format.h"
#include "operator/api/policy/policy.h"

namespace attune::cli {
namespace {

using kube::At;
using kube::Json;
using kube::StringAt;

constexpr double kSkewMax = 5;    // seconds that nothing notices
constexpr double kSkewBad = 60;   // tokens and certificates of now are not valid yet, or no more
constexpr int kMinorMin = 29;     // sidecars are init containers that stay
constexpr int kResizeMinor = 33;  // pods are resized in place by default

int MinorOf(const Json& version) {
  const std::string text(StringAt(version, {"minor"}));  // "34", "34+"
  return std::atoi(text.c_str());
}

bool Lists(const Json& kinds, const std::string& name) {
  const Json& resources = At(kinds, {"resources"});
  return resources.is_array() && std::any_of(resources.begin(), resources.end(), [&](const Json& resource) {
           return StringAt(resource, {"name"}) == name;
         });
}

Finding JudgeVersion(const ClusterAnswers& answers) {
  const std::string version(StringAt(*answers.kubernetes, {"gitVersion"}));
  const int minor = MinorOf(*answers.kubernetes);
  if (StringAt(*answers.kubernetes, {"major"}) == "1" && minor < kMinorMin) {
    return Problem("kubernetes", version + ": pods of jobs need 1." + std::to_string(kMinorMin) + " or later",
                   "update the cluster");
  }
  return Ok("kubernetes", version);
}

Finding JudgeResize(const ClusterAnswers& answers) {
  if (!answers.core_kinds.ok()) return NotSeen("resize", answers.core_kinds.status());
  if (Lists(*answers.core_kinds, "pods/resize")) return Ok("resize", "pods that run can be given other cpu and memory");
  return Warning(
      "resize",
      "this cluster cannot resize pods that run: attune scale JOB worker-cpu=2 and the tuner's limits of "
      "cpu and memory change nothing here",
      "Kubernetes 1." + std::to_string(kResizeMinor) + " or later, or its feature gate InPlacePodVerticalScaling");
}

Finding JudgeServerClock(const ClusterAnswers& answers) {
  if (!answers.server_time.ok()) return NotSeen("clock", answers.server_time.status());
  // The header has whole seconds, of a moment between question and answer.
  const double skew = answers.now - (static_cast<double>(*answers.server_time) + 0.5);
  const double surely = std::max(0.0, std::abs(skew) - 0.5 - answers.answer_seconds / 2);
  if (surely < kSkewMax) return Ok("clock", "of this machine and of the API server agree");
  const std::string seen = "this machine is " + api::FormatSeconds(std::abs(skew)) +
                           (skew > 0 ? " ahead of" : " behind") + " the API server";
  const std::string mend = "have a time service set both clocks (timedatectl set-ntp true)";
  if (surely < kSkewBad) return Warning("clock", seen + ": ages and remaining times are wrong by that", mend);
  return Problem("clock", seen + ": ages are wrong, and credentials may be refused", mend);
}

// Fields of a schema, by their paths.
void AddFields(const Json& schema, const std::string& path, std::set<std::string>& fields) {
  if (!schema.is_object()) return;
  if (const auto properties = schema.find("properties"); properties != schema.end() && properties->is_object()) {
    for (const auto& [name, part] : properties->items()) {
      const std::string inner = path.empty() ? name : path + "." + name;
      fields.insert(inner);
      AddFields(part, inner, fields);
    }
  }
  if (const auto items = schema.find("items"); items != schema.end()) AddFields(*items, path + "[]", fields);
}

std::set<std::string> FieldsOf(const Json& definition) {
  std::set<std::string> fields;
  const Json& versions = At(definition, {"spec", "versions"});
  for (const Json& version : versions.is_array() ? versions : Json::array()) {
    if (StringAt(version, {"name"}) == kube::kTrainingJobs.version)
      AddFields(At(version, {"schema", "openAPIV3Schema"}), "", fields);
  }
  return fields;
}

// The first of those that `of` lacks, and how many there are.
std::string Lacking(const std::set<std::string>& wanted, const std::set<std::string>& of) {
  std::string first;
  size_t count = 0;
  for (const std::string& field : wanted) {
    if (of.contains(field)) continue;
    if (++count == 1) first = field;
  }
  if (count == 0) return "";
  return count == 1 ? first : first + " and " + std::to_string(count - 1) + (count == 2 ? " other" : " others");
}

struct KnownKind {
  const kube::ResourceType& type;
  Json (*definition)();
  const char* file;
};
const std::vector<KnownKind>& KnownKinds() {
  static const std::vector<KnownKind> kinds = {
      {kube::kTrainingJobs, api::TrainingJobCrd, "crds/trainingjob.yaml"},
      {kube::kTuningPolicies, api::TuningPolicyCrd, "crds/tuningpolicy.yaml"},
      {kube::kClusterTuningPolicies, api::ClusterTuningPolicyCrd, "crds/clustertuningpolicy.yaml"}};
  return kinds;
}

Finding JudgeKind(const ClusterAnswers& answers, const KnownKind& kind) {
  const std::string subject = kind.type.kind;
  const std::string apply = answers.kubectl + " apply --server-side -f " + kind.file;
  const bool absent = answers.attune_kinds.status().code() == StatusCode::kNotFound;
  if (!answers.attune_kinds.ok() && !absent) return NotSeen(subject, answers.attune_kinds.status());
  if (absent || !Lists(*answers.attune_kinds, kind.type.plural)) {
    const bool jobs = kind.type == kube::kTrainingJobs;
    return Problem(subject,
                   "the cluster does not have this kind (CustomResourceDefinition " + kind.type.plural + "." +
                       kind.type.group +
                       "): " + (jobs ? "there can be no jobs" : "what such policies say does not hold"),
                   apply + ", or install the chart with crds.enabled=true");
  }
  const auto found = answers.definitions.find(kind.type.plural);
  if (found == answers.definitions.end() || !found->second.ok())
    return Ok(subject, "installed; its fields cannot be seen with your rights");
  const Json& installed = *found->second;
  const std::set<std::string> theirs = FieldsOf(installed), ours = FieldsOf(kind.definition());
  if (const std::string lacks = Lacking(ours, theirs); !lacks.empty()) {
    return Warning(subject, "an earlier version is installed: it lacks " + lacks + ", which manifests may state",
                   apply);
  }
  if (const std::string lacks = Lacking(theirs, ours); !lacks.empty()) {
    return Warning(subject, "a later version is installed: this program does not know " + lacks,
                   "use the program of the version that is installed");
  }
  return Ok(subject, "installed, with the fields of this version");
}

Finding JudgeOwnRights(const ClusterAnswers& answers) {
  std::string needed, useful, unknown;
  for (const AskedRight& asked : answers.rights) {
    std::string& names = !asked.allowed.ok() ? unknown : asked.right.needed ? needed : useful;
    if (asked.allowed.ok() && *asked.allowed) continue;
    names += (names.empty() ? "" : ", ") + ToString(asked.right);
  }
  const std::string where = " in namespace " + answers.name_space;
  const std::string mend = "the cluster's administrators give it with a RoleBinding to the ClusterRole edit" + where;
  if (!needed.empty()) return Problem("your rights", "you may not" + where + ": " + needed, mend);
  if (!unknown.empty()) return Warning("your rights", "not known" + where + ": " + unknown, "");
  if (!useful.empty())
    return Warning("your rights", "all that is needed, but some commands show less" + where + " without: " + useful,
                   mend);
  return Ok("your rights", "all that commands need" + where);
}

}  // namespace

Finding NotSeen(const std::string& subject, const Status& why) {
  const bool forbidden = why.code() == StatusCode::kPermissionDenied;
  return Warning(subject, "could not be looked at: " + std::string(Message(why)),
                 forbidden ? "ask a user who may read it to run attune doctor" : "");
}

Findings JudgeApiServer(const ClusterAnswers& answers) {
  Findings findings = {JudgeVersion(answers), JudgeResize(answers), JudgeServerClock(answers)};
  for (const KnownKind& kind : KnownKinds()) findings.push_back(JudgeKind(answers, kind));
  findings.push_back(JudgeOwnRights(answers));
  return findings;
}

Findings JudgeCluster(const ClusterAnswers& answers) {
  Findings findings = {Ok("attune", answers.version)};
  if (!answers.kubernetes.ok()) {
    findings.push_back(Problem("kubernetes",
                               "no answer from the API server: " + std::string(Message(answers.kubernetes.status())),
                               "check address and credentials: " + answers.kubectl + " version"));
    return findings;
  }
  for (auto* judge : {JudgeApiServer, JudgeOperators, JudgeRoom}) {
    for (Finding& finding : judge(answers)) findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace attune::cli
