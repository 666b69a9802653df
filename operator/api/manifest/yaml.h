// YAML text <-> JSON values, keeping places. The only file that sees yaml-cpp is yaml.cpp.
//
// Plain scalars follow the YAML 1.2 core schema: null, true/false, 12, 0o17, 0xff, 1.5e3; everything else, and
// everything quoted, is a string. Where Kubernetes' own reader (YAML 1.1) would see something else, the value is
// refused instead of guessed: yes/no/on/off/y/n (booleans there) and 0644 (octal there, decimal here).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "operator/api/training_job.h"

namespace attune::api {

struct Place {
  int line = 0, column = 0;          // of the value
  int key_line = 0, key_column = 0;  // of its key; the value's own in lists and at the top
};

struct YamlDocument {
  Json value;
  std::map<std::string, Place> places;  // by path: "spec.workers.template.spec.containers[0].name"
  std::vector<FieldProblem> problems;   // duplicate keys and the like, with places
  // Scalars that readers understand differently, as they were written, by path; each is one of the problems. Who knows
  // what the field takes can say better what is allowed.
  std::map<std::string, std::string> unclear;
};

inline constexpr size_t kYamlNodesMax = 100'000;  // aliases counted each time: a small file cannot grow without end
inline constexpr int kYamlDepthMax = 100;

// All documents, empty ones left out. A text that is not YAML is InvalidArgument: "name:line:column: what is wrong".
StatusOr<std::vector<YamlDocument>> ParseYaml(const std::string& text, const std::string& name);

// Block style, two spaces, keys in the order of the value; strings quoted where they would read as something else.
std::string ToYaml(const Json& value);

}  // namespace attune::api
