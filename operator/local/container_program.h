// What is executed for a container, and with which environment: stand-ins for what an image would bring.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "operator/kube/object.h"
#include "operator/local/container_launch.h"

namespace attune::local {

// Where programs are looked up after `program_directories`.
std::string SearchPath();
// The image's own program where the container names none: attune/server:dev -> attune-server, then server.
StatusOr<std::filesystem::path> ProgramOf(const Launch& launch, const kube::Json& container,
                                          const std::vector<std::filesystem::path>& program_directories);
std::vector<std::string> EnvironmentOf(const std::string& host_name, const Launch& launch,
                                       const std::vector<std::filesystem::path>& program_directories);

}  // namespace attune::local
