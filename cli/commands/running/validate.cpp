#include <cstdio>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/policies/manifest_lines.h"
#include "cli/requests/manifest_file.h"
#include "operator/api/manifest/manifest.h"

namespace attune::cli {
namespace {

// Number of problems. Results go to standard output: they are what was asked for.
size_t ValidateFile(const std::string& file, bool json) {
  const std::string name = file == "-" ? kStandardInput : file;
  const auto content = ReadManifestText(file);
  const auto manifests = content.ok() ? api::ParseManifests(*content, name, api::ManifestKinds::kJobsAndPolicies)
                                      : StatusOr<std::vector<api::Manifest>>(content.status());
  if (!manifests.ok()) {
    std::puts(UnreadableLine(name, manifests.status(), json).c_str());
    return 1;
  }
  size_t problems = 0;
  std::string names;
  for (const api::Manifest& manifest : *manifests) {
    for (const api::FieldProblem& problem : manifest.problems) std::puts(ProblemLine(manifest, problem, json).c_str());
    for (const std::string& line : AdviceLines(manifest, json)) std::puts(line.c_str());
    problems += manifest.problems.size();
    if (manifest.problems.empty()) names += (names.empty() ? "" : ", ") + ShownName(manifest);
  }
  if (problems == 0 && !json) std::printf("%s: valid (%s)\n", name.c_str(), names.c_str());
  return problems;
}

}  // namespace

int Validate(const ValidateArguments& arguments) {
  size_t problems = 0;
  for (const std::string& file : arguments.files) problems += ValidateFile(file, arguments.json);
  if (problems > 0 && !arguments.json) std::printf("%zu problem%s\n", problems, problems == 1 ? "" : "s");
  return problems == 0 ? kExitOk : kExitBadInput;
}

}  // namespace attune::cli
