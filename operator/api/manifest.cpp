#include "operator/api/manifest.h"

#include <algorithm>
#include <tuple>

#include "base/file.h"
#include "operator/api/yaml.h"

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

void AddPlaces(const std::map<std::string, Place>& places, std::vector<FieldProblem>& problems) {
  for (FieldProblem& problem : problems) {
    const Place place = FindPlace(places, problem.path);
    problem.line = problem.about_key ? place.key_line : place.line;
    problem.column = problem.about_key ? place.key_column : place.column;
  }
}

Manifest FromDocument(YamlDocument document, const std::filesystem::path& file) {
  Manifest manifest;
  manifest.file = file;
  manifest.problems = ParseTrainingJob(document.value).problems;
  AddPlaces(document.places, manifest.problems);
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
