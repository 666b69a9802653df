#include "cli/policies/manifest_lines.h"

#include "operator/api/policy/policy.h"
#include "operator/policy/advice.h"

namespace attune::cli {
namespace {

std::string Dump(const api::Json& value) { return value.dump(-1, ' ', false, api::Json::error_handler_t::replace); }

}  // namespace

std::string ProblemLine(const api::Manifest& manifest, const api::FieldProblem& problem, bool json) {
  if (!json) return api::ToString(problem, manifest.file.string());
  return Dump({{"file", manifest.file.string()},
               {"line", problem.line},
               {"column", problem.column},
               {"path", problem.path},
               {"found", problem.found},
               {"allowed", problem.allowed}});
}

std::string UnreadableLine(const std::string& file, const Status& status, bool json) {
  const std::string text(Message(status));
  return json ? Dump({{"file", file}, {"error", text}}) : text;
}

std::vector<std::string> AdviceLines(const api::Manifest& manifest, bool json) {
  std::vector<std::string> lines;
  for (const policy::Advice& advice : policy::AdviceOn(manifest.object)) {
    std::vector<api::FieldProblem> placed(1);
    placed.front().path = advice.path;
    manifest.Locate(placed);
    const int line = placed.front().line, column = placed.front().column;
    const char* level = advice.warning ? "warning" : "note";
    if (json) {
      lines.push_back(Dump({{"file", manifest.file.string()},
                            {"line", line},
                            {"column", column},
                            {"path", advice.path},
                            {level, advice.text}}));
    } else {
      lines.push_back(manifest.file.string() + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " +
                      level + ": " + advice.path + ": " + advice.text);
    }
  }
  return lines;
}

std::string ShownName(const api::Manifest& manifest) {
  if (api::IsPolicy(manifest.object)) return NameOf(api::ParsePolicy(manifest.object).policy);
  return api::ParseTrainingJob(manifest.object).job.name;
}

}  // namespace attune::cli
