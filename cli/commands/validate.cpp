#include <cstdio>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/requests/manifest_file.h"
#include "operator/api/manifest/manifest.h"

namespace attune::cli {
namespace {

// Results go to standard output: they are what was asked for.
void PrintProblem(const api::Manifest& manifest, const api::FieldProblem& problem, bool json) {
  if (!json) {
    std::puts(api::ToString(problem, manifest.file.string()).c_str());
    return;
  }
  const api::Json line = {{"file", manifest.file.string()}, {"line", problem.line},   {"column", problem.column},
                          {"path", problem.path},           {"found", problem.found}, {"allowed", problem.allowed}};
  std::puts(line.dump(-1, ' ', false, api::Json::error_handler_t::replace).c_str());
}

// Number of problems.
size_t ValidateFile(const std::string& file, bool json) {
  const std::string name = file == "-" ? kStandardInput : file;
  const auto content = ReadManifestText(file);
  const auto manifests =
      content.ok() ? api::ParseManifests(*content, name) : StatusOr<std::vector<api::Manifest>>(content.status());
  if (!manifests.ok()) {
    const std::string text(Message(manifests.status()));
    if (json) {
      std::puts(api::Json({{"file", name}, {"error", text}})
                    .dump(-1, ' ', false, api::Json::error_handler_t::replace)
                    .c_str());
    } else {
      std::puts(text.c_str());
    }
    return 1;
  }
  size_t problems = 0;
  std::string names;
  for (const api::Manifest& manifest : *manifests) {
    for (const api::FieldProblem& problem : manifest.problems) PrintProblem(manifest, problem, json);
    problems += manifest.problems.size();
    if (manifest.problems.empty())
      names += (names.empty() ? "" : ", ") + api::ParseTrainingJob(manifest.object).job.name;
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
