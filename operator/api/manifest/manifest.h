// YAML manifests with places: reads files a user wrote and reports every mistake with file, line and field path.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "operator/api/manifest/yaml.h"
#include "operator/api/training_job.h"

namespace attune::api {

struct Manifest {
  std::filesystem::path file;
  Json object;                          // as written, for sending to an API server
  std::vector<FieldProblem> problems;   // with line and column; empty means valid
  std::map<std::string, Place> places;  // of its fields, by path

  // Line and column of problems that others find in the object.
  void Locate(std::vector<FieldProblem>& found) const;
};

// What a file may hold.
enum class ManifestKinds { kJobs, kPolicies, kJobsAndPolicies };

// Every document of the file ("---" separates). A Status only when the file cannot be read or is not YAML (line
// included).
StatusOr<std::vector<Manifest>> ReadManifests(const std::filesystem::path& file);
// The same from memory; `name` stands for the file in messages.
StatusOr<std::vector<Manifest>> ParseManifests(const std::string& text, const std::string& name,
                                               ManifestKinds kinds = ManifestKinds::kJobs);

}  // namespace attune::api
