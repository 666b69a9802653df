#include "operator/api/job_metadata.h"

#include <algorithm>
#include <string_view>

#include "operator/api/field_binding.h"
#include "operator/api/pod_template.h"

namespace attune::api {
namespace {

void CheckStringMap(const Json& metadata, const char* key, std::vector<FieldProblem>& problems) {
  const auto at = metadata.find(key);
  if (at == metadata.end() || at->is_null()) return;
  const std::string path = std::string("metadata.") + key;
  if (!at->is_object()) {
    problems.push_back({path, FoundText(*at), "a mapping of names to strings"});
    return;
  }
  for (const auto& [name, value] : at->items()) {
    if (!value.is_string()) problems.push_back({path + "." + name, FoundText(value), "a string; quote the value"});
  }
}

bool States(const Json& fields, const char* role) {
  const Json::json_pointer at(std::string("/f:spec/f:") + role + "/f:replicas");
  return fields.is_object() && fields.contains(at);
}

// Programs by which people, or this system, state replicas.
bool IsPersonal(std::string_view manager) { return manager.starts_with("kubectl") || manager.starts_with("attune"); }

}  // namespace

std::string ReplicasManager(const Json& managed_fields) {
  if (!managed_fields.is_array()) return "";
  for (const Json& entry : managed_fields) {
    if (!entry.is_object()) continue;
    std::string manager = TextAt(entry, "manager");
    const auto fields = entry.find("fieldsV1");
    if (manager.empty() || IsPersonal(manager) || fields == entry.end()) continue;
    if (States(*fields, "servers") || States(*fields, "workers")) return manager;
  }
  return "";
}

void ParseMetadata(const Json& metadata, TrainingJob& job, std::vector<FieldProblem>& problems) {
  static const std::vector<std::string> kKnown = {"name",
                                                  "namespace",
                                                  "labels",
                                                  "annotations",
                                                  "uid",
                                                  "resourceVersion",
                                                  "generation",
                                                  "creationTimestamp",
                                                  "deletionTimestamp",
                                                  "deletionGracePeriodSeconds",
                                                  "finalizers",
                                                  "ownerReferences",
                                                  "managedFields",
                                                  "selfLink"};
  static const std::string kUsual = "name, namespace, labels, annotations";
  for (const auto& [name, value] : metadata.items()) {
    if (std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end()) continue;
    const auto nearest = NearestName(name, kKnown);
    problems.push_back(NameProblem("metadata." + name, "an unknown field",
                                   nearest ? *nearest + " (nearest); usual ones: " + kUsual : kUsual));
  }
  const auto name = metadata.find("name");
  job.name = TextAt(metadata, "name");
  if (!IsDnsLabel(job.name) || job.name.size() > kJobNameMax) {
    problems.push_back(
        {"metadata.name", name == metadata.end() ? "nothing" : FoundText(*name),
         "a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit, at most " +
             std::to_string(kJobNameMax) + " characters"});
  }
  const auto name_space = metadata.find("namespace");
  job.name_space = TextAt(metadata, "namespace");
  if (name_space != metadata.end() && !IsDnsLabel(job.name_space)) {
    problems.push_back({"metadata.namespace", FoundText(*name_space),
                        "a DNS label: lower-case letters, digits and '-', at most 63 characters"});
  }
  CheckStringMap(metadata, "labels", problems);
  CheckStringMap(metadata, "annotations", problems);
  if (const auto managed = metadata.find("managedFields"); managed != metadata.end())
    job.replicas_manager = ReplicasManager(*managed);
  job.uid = TextAt(metadata, "uid");
  job.resource_version = TextAt(metadata, "resourceVersion");
  job.creation_time = TextAt(metadata, "creationTimestamp");
  job.being_deleted = !TextAt(metadata, "deletionTimestamp").empty();
  if (const auto annotations = metadata.find("annotations");
      annotations != metadata.end() && annotations->is_object()) {
    constexpr size_t kRequestBytesMax = 256;
    job.checkpoint_request = TextAt(*annotations, kAnnotationCheckpointRequest).substr(0, kRequestBytesMax);
    job.move_request = TextAt(*annotations, kAnnotationMove).substr(0, kRequestBytesMax);
    job.restart_request = TextAt(*annotations, kAnnotationRestart).substr(0, kRequestBytesMax);
    job.row_trace_request = TextAt(*annotations, kAnnotationRowTrace).substr(0, kRequestBytesMax);
  }
  const auto generation = metadata.find("generation");
  if (generation != metadata.end() && generation->is_number_integer()) job.generation = generation->get<int64_t>();
}

bool CheckKind(const Json& object, std::vector<FieldProblem>& problems) {
  const std::string api_version = kube::kTrainingJobs.api_version();
  const std::string& kind = kube::kTrainingJobs.kind;
  const size_t before = problems.size();
  const auto found = [&](const char* key) {
    const auto at = object.find(key);
    return at == object.end() ? std::string("nothing") : FoundText(*at);
  };
  if (TextAt(object, "apiVersion") != api_version) {
    problems.push_back({"apiVersion", found("apiVersion"), api_version + ", the one version understood"});
  }
  if (TextAt(object, "kind") != kind) {
    problems.push_back({"kind", found("kind"), kind + ", the one kind understood"});
  }
  return problems.size() == before;
}

}  // namespace attune::api
