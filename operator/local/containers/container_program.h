// What is executed for a container, and with which environment: stand-ins for what an image would bring.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "operator/kube/object.h"
#include "operator/local/containers/container_launch.h"

namespace attune::local {

// Where programs are looked up after `program_directories`.
std::string SearchPath();
// Where relative paths of programs begin: the container's workingDir, or else the directory `attune run` was started
// in.
std::filesystem::path ProgramBase(const Launch& launch);
// The image's own program where the container names none: attune/server:dev -> attune-server, then server.
StatusOr<std::filesystem::path> ProgramOf(const Launch& launch, const kube::Json& container,
                                          const std::vector<std::filesystem::path>& program_directories);

// Variables of this process's environment that containers are started with: all, except what belongs to this process
// and not to the programs it starts: ATTUNE_*, whose values the operator gives (ATTUNE_LOG_LEVEL and ATTUNE_LOG_FORMAT
// are the user's), KUBERNETES_*, which name the cluster around this process, and what shells keep for themselves (PWD,
// OLDPWD, SHLVL, _).
bool IsPassedOn(std::string_view name);
using Variables = std::map<std::string, std::string>;
Variables ThisEnvironment();
// "NAME=value": `inherited` as far as it is passed on, with `program_directories` first on the PATH; over it what the
// container itself states.
std::vector<std::string> EnvironmentOf(const std::string& host_name, const Launch& launch,
                                       const std::vector<std::filesystem::path>& program_directories,
                                       const Variables& inherited);

}  // namespace attune::local
