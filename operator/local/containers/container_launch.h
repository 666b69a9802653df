// From a container of a pod to a command line and an environment: field references, $(VAR) expansion, and the two
// rewritings that stand in for mounts and DNS (see platform.h). Pure: volumes and addresses are given.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "operator/kube/object.h"

namespace attune::local {

struct Launch {
  std::vector<std::string> command;  // as in the pod, expanded and rewritten; may be empty (the image's own)
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
  std::filesystem::path directory;  // workingDir, rewritten; "" when the container names none
};

struct LaunchInput {
  const kube::Json& pod;
  const kube::Json& container;
  std::string ip;
  std::map<std::string, std::filesystem::path> volumes;  // real directory of each volume of the pod
  // Address of pod `name` in `name_space`, for names <pod>.<service>.<namespace>.svc.
  std::function<StatusOr<std::string>(const kube::ObjectKey&)> resolve;
  std::filesystem::path termination_log = {};  // stands in for the container's terminationMessagePath
};

StatusOr<Launch> MakeLaunch(const LaunchInput& input);

// Whether valueFrom.fieldRef.fieldPath is one that is known here, and all of them, for messages.
bool IsFieldReference(std::string_view path);
std::string FieldReferences();

// "$(A)" -> value of A; "$$(A)" -> "$(A)"; unknown names stay as they are.
std::string ExpandVariables(std::string_view text, const std::map<std::string, std::string>& values);
// Replaces a mount path that `text` begins with (or that follows the "=" of "--flag=") by its real directory; longest
// first.
std::string RewriteMounts(const std::string& text, const std::map<std::string, std::filesystem::path>& mounts);
// Replaces every <pod>.<service>.<namespace>.svc[.cluster.local] in `text` by the pod's address.
StatusOr<std::string> RewriteNames(const std::string& text,
                                   const std::function<StatusOr<std::string>(const kube::ObjectKey&)>& resolve);

}  // namespace attune::local
