// Memory and CPU limits of containers through control groups (version 1 or 2), where this process may make them. Where
// it may not, the log says so once, with what to do, and containers run without limits. One thread at a time.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "operator/kube/object.h"

namespace attune::local {

// Where control groups are; another place in tests.
struct ControlGroups {
  std::filesystem::path root = "/sys/fs/cgroup";
  std::filesystem::path own = "/proc/self/cgroup";  // lists the groups of this process
};

// The control groups of one container run, named attune-<process id of this platform>-<container id>.
class ContainerLimits {
 public:
  // `limits`: resources.limits of a container. Never fails: without rights the result has no files. Removes groups that
  // a platform which was killed left behind.
  static ContainerLimits Make(const kube::Json& limits, const std::string& container_id,
                              const ControlGroups& groups = {});
  // cgroup.procs files that the container's first process joins.
  const std::vector<std::string>& files() const { return files_; }
  // Whether the kernel killed a process of it for its memory limit.
  bool RanOutOfMemory() const;
  // After its processes ended.
  void Remove();

 private:
  std::vector<std::filesystem::path> groups_;
  std::vector<std::string> files_;
};

}  // namespace attune::local
