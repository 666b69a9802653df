// Memory and CPU limits of containers through control groups (version 1 or 2), where this process may make them. Where
// it may not, that is said once in the log and containers run without limits. One thread at a time.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "operator/kube/object.h"

namespace attune::local {

// The control groups of one container run.
class ContainerLimits {
 public:
  // `limits`: resources.limits of a container. Never fails: without rights the result has no files.
  static ContainerLimits Make(const kube::Json& limits, const std::string& container_id);
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
