#include "operator/local/container_program.h"

#include <cstdlib>
#include <map>

#include "operator/local/process.h"

namespace attune::local {
namespace {

using kube::Json;

constexpr char kPath[] = "/usr/local/bin:/usr/bin:/bin";

}  // namespace

std::string SearchPath() {
  const char* path = std::getenv("PATH");
  return path == nullptr ? kPath : path;
}

StatusOr<std::filesystem::path> ProgramOf(const Launch& launch, const Json& container,
                                          const std::vector<std::filesystem::path>& program_directories) {
  const std::string search = SearchPath();
  if (!launch.command.empty()) return FindProgram(launch.command.front(), program_directories, search);
  std::string image(kube::StringAt(container, {"image"}));
  image = image.substr(0, image.find('@'));
  const size_t slash = image.rfind('/');
  if (const size_t colon = image.rfind(':');
      colon != std::string::npos && (slash == std::string::npos || colon > slash))
    image.resize(colon);
  const std::string name = slash == std::string::npos ? image : image.substr(slash + 1);
  if (StatusOr<std::filesystem::path> found = FindProgram("attune-" + name, program_directories, search); found.ok())
    return found;
  return FindProgram(name, program_directories, search);
}

std::vector<std::string> EnvironmentOf(const std::string& host_name, const Launch& launch,
                                       const std::vector<std::filesystem::path>& program_directories) {
  std::map<std::string, std::string> values{{"PATH", kPath}, {"HOSTNAME", host_name}};
  // What an image would bring, and what the developer of the program set for it.
  for (const char* name :
       {"PATH", "HOME", "USER", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH", "ATTUNE_LOG_LEVEL",
        "ATTUNE_LOG_FORMAT", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name); value != nullptr) values[name] = value;
  }
  std::string directories;
  for (const std::filesystem::path& directory : program_directories) directories += directory.string() + ":";
  values["PATH"] = directories + values["PATH"];
  for (const auto& [name, value] : launch.environment) values[name] = value;
  std::vector<std::string> environment;
  for (const auto& [name, value] : values) environment.push_back(name + "=" + value);
  return environment;
}

}  // namespace attune::local
