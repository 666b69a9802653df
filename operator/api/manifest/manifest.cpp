#include "operator/api/manifest/manifest.h"

#include <strings.h>

#include <algorithm>
#include <tuple>

#include "base/os/file.h"
#include "operator/api/fields.h"
#include "operator/api/manifest/policy_document.h"
#include "operator/api/manifest/yaml.h"
#include "operator/api/pod/label_names.h"
#include "operator/api/pod/pod_fields.h"
#include "operator/api/policy/policy.h"

namespace attune::api {
namespace {

constexpr uint64_t kManifestBytesMax = 3 << 20;  // an API server takes less

// A missing field has no place: the nearest field around it that has one stands in.
Place FindPlace(const std::map<std::string, Place>& places, std::string path) {
  while (true) {
    if (const auto at = places.find(path); at != places.end()) return at->second;
    const size_t cut = path.find_last_of(".[");
    if (cut == std::string::npos) break;
    path.resize(cut);
  }
  const auto top = places.find("(document)");
  return top == places.end() ? Place{1, 1, 1, 1} : top->second;
}

constexpr const char* kTemplates[] = {"spec.servers.template", "spec.workers.template"};

// Names in metadata and the templates' fields; what the few rules of pod_template.h have found wrong already is not
// said again.
void CheckMetadataAndTemplates(const Json& object, std::vector<FieldProblem>& problems) {
  std::vector<FieldProblem> found;
  CheckNamesAndValues(kube::At(object, {"metadata", "labels"}), "metadata.labels", true, found);
  CheckNamesAndValues(kube::At(object, {"metadata", "annotations"}), "metadata.annotations", false, found);
  for (const char* role : {"servers", "workers"}) {
    const Json& pod_template = kube::At(object, {"spec", role, "template"});
    if (pod_template.is_object()) CheckPodFields(pod_template, std::string("spec.") + role + ".template", found);
  }
  std::erase_if(found, [&](const FieldProblem& problem) {
    return std::any_of(problems.begin(), problems.end(),
                       [&](const FieldProblem& other) { return other.path == problem.path; });
  });
  problems.insert(problems.end(), found.begin(), found.end());
}

// What a field of a job takes: "" where that is unknown, or where it takes strings.
std::string AllowedInJob(const std::string& path) {
  std::string allowed;
  if (const Field* field = FindField(path)) allowed = AllowedText(*field);
  for (const std::string prefix : kTemplates) {
    if (path.starts_with(prefix + ".")) allowed = AllowedInPod(path.substr(prefix.size() + 1));
  }
  return allowed.starts_with("a string") ? "" : allowed;
}

// `yes` for a number is no question of quotes.
void SayWhatIsAllowed(const YamlDocument& document, bool is_policy, std::vector<FieldProblem>& problems) {
  for (FieldProblem& problem : problems) {
    const auto unclear = document.unclear.find(problem.path);
    if (unclear == document.unclear.end()) continue;
    AllowedInPolicy takes;
    if (is_policy) {
      takes = AllowedAt(problem.path);
    } else {
      takes.text = AllowedInJob(problem.path);
      if (const Field* field = FindField(problem.path)) takes.choices = field->choices;
    }
    std::string allowed = takes.text;
    const std::string& text = unclear->second;
    if (allowed.empty()) continue;
    if (allowed.starts_with("a whole number") && text.find_first_of("0123456789") != std::string::npos)
      allowed += ", without leading zeros";
    // `mode: Off` is what is allowed, and yet a boolean for half of the readers.
    for (const std::string& choice : takes.choices) {
      if (strcasecmp(choice.c_str(), text.c_str()) == 0) allowed = "\"" + choice + "\", in quotes; all: " + allowed;
    }
    problem.allowed = std::move(allowed);
  }
}

// Which kind a document is of may itself be one of its problems.
std::vector<FieldProblem> ProblemsOf(const Json& object, bool is_policy, ManifestKinds kinds) {
  if (is_policy && kinds != ManifestKinds::kJobs) return PolicyProblems(object);
  if (kinds == ManifestKinds::kPolicies) return {NoPolicyProblem(object)};
  std::vector<FieldProblem> problems = ParseTrainingJob(object).problems;
  CheckMetadataAndTemplates(object, problems);
  for (FieldProblem& problem : problems) {
    if (problem.path != "kind") continue;
    if (kinds == ManifestKinds::kJobsAndPolicies) problem.allowed = "TrainingJob, TuningPolicy or ClusterTuningPolicy";
    if (is_policy) problem.allowed += "; kubectl apply -f applies a policy, and attune policy test tries it";
  }
  return problems;
}

Manifest FromDocument(YamlDocument document, const std::filesystem::path& file, ManifestKinds kinds) {
  Manifest manifest;
  manifest.file = file;
  const bool is_policy = IsMeantAsPolicy(document.value);
  manifest.problems = ProblemsOf(document.value, is_policy, kinds);
  manifest.places = std::move(document.places);
  manifest.Locate(manifest.problems);
  SayWhatIsAllowed(document, is_policy, document.problems);
  // What is wrong about the YAML comes first: a value lost there may be the reason of a second complaint about its
  // field.
  for (const FieldProblem& problem : document.problems) {
    std::erase_if(manifest.problems, [&](const FieldProblem& other) { return other.path == problem.path; });
  }
  manifest.problems.insert(manifest.problems.end(), document.problems.begin(), document.problems.end());
  std::stable_sort(manifest.problems.begin(), manifest.problems.end(), [](const auto& a, const auto& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  manifest.object = std::move(document.value);
  return manifest;
}

// "TrainingJob default/word2vec"; "" without a name, which is a problem of its own.
std::string IdentityOf(const Json& object) {
  if (IsPolicy(object)) {
    const Policy policy = ParsePolicy(object).policy;
    return policy.name.empty() ? "" : NameOf(policy);
  }
  const TrainingJob job = ParseTrainingJob(object).job;
  return job.name.empty() ? "" : kube::kTrainingJobs.kind + " " + job.name_space + "/" + job.name;
}

// Two objects of one name: the second would silently change the first.
void CheckNames(std::vector<Manifest>& manifests) {
  for (size_t i = 0; i < manifests.size(); ++i) {
    const std::string identity = IdentityOf(manifests[i].object);
    if (identity.empty()) continue;
    for (size_t j = 0; j < i; ++j) {
      if (IdentityOf(manifests[j].object) != identity) continue;
      manifests[i].problems.push_back({"metadata.name",
                                       "\"" + std::string(kube::Name(manifests[i].object)) + "\" again",
                                       "a name no other document of the file has"});
    }
  }
}

}  // namespace

void Manifest::Locate(std::vector<FieldProblem>& found) const {
  for (FieldProblem& problem : found) {
    const Place place = FindPlace(places, problem.path);
    problem.line = problem.about_key ? place.key_line : place.line;
    problem.column = problem.about_key ? place.key_column : place.column;
  }
}

StatusOr<std::vector<Manifest>> ParseManifests(const std::string& text, const std::string& name, ManifestKinds kinds) {
  ASSIGN_OR_RETURN(std::vector<YamlDocument> documents, ParseYaml(text, name));
  if (documents.empty()) {
    const auto& type = kinds == ManifestKinds::kPolicies ? kube::kClusterTuningPolicies : kube::kTrainingJobs;
    return Error(StatusCode::kInvalidArgument, name + ": holds no document; a " + type.kind +
                                                   " begins with \"apiVersion: " + type.api_version() + "\"");
  }
  std::vector<Manifest> manifests;
  for (YamlDocument& document : documents) manifests.push_back(FromDocument(std::move(document), name, kinds));
  CheckNames(manifests);
  return manifests;
}

StatusOr<std::vector<Manifest>> ReadManifests(const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kManifestBytesMax));
  return ParseManifests(text, file.string());
}

}  // namespace attune::api
