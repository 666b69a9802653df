// Memory and CPU limits of containers, and of whole pods, through control groups (version 1 or 2), where this process
// may make them. Where it may not, containers run without the limits of their manifest and the log says so once, with
// what to do; a limit of a whole pod was asked for on the command line and is an error. One thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/os/cgroup.h"
#include "base/status.h"
#include "operator/kube/object.h"

namespace attune::local {

// Where control groups are; another place in tests.
struct ControlGroups {
  std::filesystem::path root = kCgroupMount;
  std::filesystem::path own = kOwnCgroups;  // lists the groups of this process
};

// The control group that holds the containers of one pod to a number of cores together, named like a container's. Time
// is given out in short slices, so that a pod looks like a slower machine and not like one that stands still for most
// of each tenth of a second. Removed with Remove(), after the groups of its containers.
class PodLimits {
 public:
  // FailedPrecondition says what is missing and what to do.
  static StatusOr<PodLimits> Make(double cores, const std::string& pod_id, const ControlGroups& groups = {});
  void Remove();

 private:
  friend class ContainerLimits;
  std::filesystem::path group_;
  double cores_ = 0;
  bool version_2_ = false;
};

// The control groups of one container run, named attune-<process id of this platform>-<container id>. A container with
// any figure of cpu or memory, a limit or a request, has groups for both, so that a resize may also add a limit.
class ContainerLimits {
 public:
  // `resources` of a container. Never fails: without rights the result has no files. Removes groups that a platform
  // which was killed left behind. `pod`: the group that this container's processes belong to; null for none. Its cores
  // bound the container's.
  static ContainerLimits Make(const kube::Json& resources, const std::string& container_id,
                              const ControlGroups& groups = {}, const PodLimits* pod = nullptr);
  // cgroup.procs files that the container's first process joins.
  const std::vector<std::string>& files() const { return files_; }
  // Change the limits of the running processes. FailedPrecondition says which file cannot be written, or why there is
  // none, and what to do; the earlier limit then holds. What is in use must be less than a new limit of memory:
  // version 2 would end processes.
  Status LimitMemory(double bytes);
  Status LimitCpu(double cores);
  // Without file pages that the kernel can drop at once; nothing where no group counts it.
  std::optional<uint64_t> MemoryInUse() const;
  // Whether the kernel killed a process of it for its memory limit.
  bool RanOutOfMemory() const;
  // After its processes ended.
  void Remove();

 private:
  struct Figures;
  void JoinOneGroup(const Figures& figures, const ControlGroups& groups, const PodLimits* pod);
  void JoinGroupPerController(const Figures& figures, const ControlGroups& groups, const PodLimits* pod);
  void Join(const std::filesystem::path& group);
  Status Write(const std::filesystem::path& group, const std::string& file, const std::string& value) const;

  std::vector<std::filesystem::path> groups_;  // its own
  std::vector<std::string> files_;
  std::filesystem::path memory_group_, cpu_group_;  // "": none of its own
  double cores_max_ = 0;                            // of its pod; 0: none
  bool version_2_ = false;
  bool asked_ = false;  // it has figures, so that groups were tried
};

}  // namespace attune::local
