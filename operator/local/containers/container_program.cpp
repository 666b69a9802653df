#include "operator/local/containers/container_program.h"

#include <unistd.h>

#include <cstdlib>

#include "operator/local/containers/process.h"

namespace attune::local {
namespace {

using kube::Json;

constexpr char kPath[] = "/usr/local/bin:/usr/bin:/bin";

}  // namespace

std::string SearchPath() {
  const char* path = std::getenv("PATH");
  return path == nullptr ? kPath : path;
}

std::filesystem::path ProgramBase(const Launch& launch) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  return launch.directory.empty() ? here : here / launch.directory;
}

StatusOr<std::filesystem::path> ProgramOf(const Launch& launch, const Json& container,
                                          const std::vector<std::filesystem::path>& program_directories) {
  const std::string search = SearchPath();
  const std::filesystem::path base = ProgramBase(launch);
  if (!launch.command.empty()) return FindProgram(launch.command.front(), program_directories, search, base);
  std::string image(kube::StringAt(container, {"image"}));
  image = image.substr(0, image.find('@'));
  const size_t slash = image.rfind('/');
  if (const size_t colon = image.rfind(':');
      colon != std::string::npos && (slash == std::string::npos || colon > slash))
    image.resize(colon);
  const std::string name = slash == std::string::npos ? image : image.substr(slash + 1);
  if (name.empty()) {
    return Error(StatusCode::kInvalidArgument,
                 "neither command nor image says what to run; name the program in command");
  }
  if (StatusOr<std::filesystem::path> found = FindProgram("attune-" + name, program_directories, search, base);
      found.ok())
    return found;
  const StatusOr<std::filesystem::path> found = FindProgram(name, program_directories, search, base);
  if (found.ok()) return found;
  return Error(found.status().code(),
               "no command is stated, and on this machine there is no image, only a program of "
               "its name: neither attune-" +
                   name + " nor " + name + " is there; name the program in command");
}

bool IsPassedOn(std::string_view name) {
  if (name == "ATTUNE_LOG_LEVEL" || name == "ATTUNE_LOG_FORMAT") return true;
  if (name.starts_with("ATTUNE_") || name.starts_with("KUBERNETES_")) return false;
  return !name.empty() && name != "PWD" && name != "OLDPWD" && name != "SHLVL" && name != "_";
}

Variables ThisEnvironment() {
  Variables values;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry(*at);
    const size_t equals = entry.find('=');
    if (equals != std::string_view::npos) values.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return values;
}

std::vector<std::string> EnvironmentOf(const std::string& host_name, const Launch& launch,
                                       const std::vector<std::filesystem::path>& program_directories,
                                       const Variables& inherited) {
  Variables values{{"PATH", kPath}};
  for (const auto& [name, value] : inherited) {
    if (IsPassedOn(name)) values[name] = value;
  }
  values["HOSTNAME"] = host_name;
  std::string directories;
  for (const std::filesystem::path& directory : program_directories) directories += directory.string() + ":";
  values["PATH"] = directories + values["PATH"];
  for (const auto& [name, value] : launch.environment) values[name] = value;
  std::vector<std::string> environment;
  environment.reserve(values.size());
  for (const auto& [name, value] : values) environment.push_back(name + "=" + value);
  return environment;
}

}  // namespace attune::local
