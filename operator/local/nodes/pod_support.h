// What of a pod template this platform cannot do, said before anything starts: fields without which the containers
// would be others (refused), fields that have no effect here (named once), and programs that are not there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "operator/api/training_job.h"

namespace attune::local {

struct PodSupport {
  std::vector<api::FieldProblem> refused;
  std::vector<std::string> without_effect;  // paths, in the order of the template
};

// Of a template that is right as core/v1 has it, at `path` of its manifest. `without_effect` leaves out what belongs to
// an image or to scheduling and changes nothing about the processes: image, imagePullPolicy, ports, requests.
PodSupport CheckPodSupport(const kube::Json& pod_template, const std::string& path);

// A problem for each container whose program is neither a file nor found beside attune or on the PATH. `role`:
// "server", whose container needs no command, or "worker". Commands that are known only when the pod starts, with
// $(NAME) or below a mount, are left to that moment.
std::vector<api::FieldProblem> FindMissingPrograms(const kube::Json& pod_template, const std::string& path,
                                                   std::string_view role,
                                                   const std::vector<std::filesystem::path>& program_directories);

}  // namespace attune::local
