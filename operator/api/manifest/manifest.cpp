#include "operator/api/manifest/manifest.h"

#include <strings.h>

#include <algorithm>
#include <tuple>

#include "base/os/file.h"
#include "operator/api/fields.h"
#include "operator/api/manifest/yaml.h"
#include "operator/api/pod/label_names.h"
#include "operator/api/pod/pod_fields.h"

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
void CheckTemplates(const Json& object, std::vector<FieldProblem>& problems) {
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

// What a field takes: "" where that is unknown, or where it takes strings.
std::string AllowedAt(const std::string& path) {
  std::string allowed;
  if (const Field* field = FindField(path)) allowed = AllowedText(*field);
  for (const std::string prefix : kTemplates) {
    if (path.starts_with(prefix + ".")) allowed = AllowedInPod(path.substr(prefix.size() + 1));
  }
  return allowed.starts_with("a string") ? "" : allowed;
}

// `yes` for a number is no question of quotes.
void SayWhatIsAllowed(const YamlDocument& document, std::vector<FieldProblem>& problems) {
  for (FieldProblem& problem : problems) {
    const auto unclear = document.unclear.find(problem.path);
    if (unclear == document.unclear.end()) continue;
    std::string allowed = AllowedAt(problem.path);
    const std::string& text = unclear->second;
    if (allowed.empty()) continue;
    if (allowed.starts_with("a whole number") && text.find_first_of("0123456789") != std::string::npos)
      allowed += ", without leading zeros";
    // `mode: Off` is what is allowed, and yet a boolean for half of the readers.
    const Field* field = FindField(problem.path);
    for (const std::string& choice : field == nullptr ? std::vector<std::string>() : field->choices) {
      if (strcasecmp(choice.c_str(), text.c_str()) == 0) allowed = "\"" + choice + "\", in quotes; all: " + allowed;
    }
    problem.allowed = std::move(allowed);
  }
}

Manifest FromDocument(YamlDocument document, const std::filesystem::path& file) {
  Manifest manifest;
  manifest.file = file;
  manifest.problems = ParseTrainingJob(document.value).problems;
  CheckTemplates(document.value, manifest.problems);
  manifest.places = std::move(document.places);
  manifest.Locate(manifest.problems);
  SayWhatIsAllowed(document, document.problems);
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

// Two jobs of one name: the second would silently change the first.
void CheckNames(std::vector<Manifest>& manifests) {
  for (size_t i = 0; i < manifests.size(); ++i) {
    const ParsedJob second = ParseTrainingJob(manifests[i].object);
    if (second.job.name.empty()) continue;
    for (size_t j = 0; j < i; ++j) {
      const ParsedJob first = ParseTrainingJob(manifests[j].object);
      if (first.job.name != second.job.name || first.job.name_space != second.job.name_space) continue;
      manifests[i].problems.push_back(
          {"metadata.name", "\"" + second.job.name + "\" again", "a name no other document of the file has"});
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

StatusOr<std::vector<Manifest>> ParseManifests(const std::string& text, const std::string& name) {
  ASSIGN_OR_RETURN(std::vector<YamlDocument> documents, ParseYaml(text, name));
  if (documents.empty()) {
    return Error(StatusCode::kInvalidArgument, name + ": holds no document; a TrainingJob begins with \"apiVersion: " +
                                                   kube::kTrainingJobs.api_version() + "\"");
  }
  std::vector<Manifest> manifests;
  for (YamlDocument& document : documents) manifests.push_back(FromDocument(std::move(document), name));
  CheckNames(manifests);
  return manifests;
}

StatusOr<std::vector<Manifest>> ReadManifests(const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kManifestBytesMax));
  return ParseManifests(text, file.string());
}

}  // namespace attune::api
