// The processes of one pod with what they need: address, volumes, control groups, logs. What they are to do is decided
// elsewhere (operator/local/pods); this starts and ends them, reads how they ended and changes their limits. For the
// thread of the agent only.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/local/api/memory_api.h"
#include "operator/local/containers/container_launch.h"
#include "operator/local/containers/container_program.h"
#include "operator/local/containers/process.h"
#include "operator/local/containers/resource_limits.h"
#include "operator/local/nodes/addresses.h"
#include "operator/local/nodes/node_agent.h"
#include "operator/local/nodes/pod_volumes.h"
#include "operator/local/nodes/prober.h"
#include "operator/local/nodes/run_directories.h"
#include "operator/local/pods/pod_plan.h"

namespace attune::local {

// What all pods of a node share; outlives them.
struct PodPlatform {
  const NodeAgentOptions& options;
  const RunDirectories& directories;
  MemoryApi& api;
  AddressBook& addresses;
  const TimeSource& time;
  Variables environment;  // that containers inherit
};

class PodProcesses {
 public:
  PodProcesses(const PodPlatform& platform, kube::ObjectKey key, size_t containers);

  // Starts container `index` with the resources that were accepted; gives the pod its address, volumes and group first.
  Status Start(const kube::Json& pod, PodRecord& record, size_t index);
  void Terminate(size_t index);
  void Kill(size_t index);
  // How a container ended since the last call.
  struct Exit {
    int code = 0;
    bool out_of_memory = false;
    std::string message;  // what it left as its last words: of long ones the end, as in Kubernetes
  };
  std::optional<Exit> TakeExit(size_t index);
  // Readable when a process has ended.
  void AddDescriptors(std::vector<int>& descriptors) const;

  // Brings the containers that run to what the spec asks for, as far as the node's `room` and the control groups allow,
  // and records what came of it. False when there was nothing to do.
  bool Resize(const kube::Json& pod, PodRecord& record, const std::function<NodeRoom()>& room);

  // The command and environment of an exec probe; false where the program is not there.
  bool PrepareExec(const kube::Json& pod, const PodRecord& record, size_t index, ProbeRequest& request) const;
  Status RenewTokens();
  // After the last process has ended; again for a pod that is forgotten.
  void Release();

 private:
  StatusOr<Launch> LaunchOf(const kube::Json& pod, const PodRecord& record, size_t index) const;
  StatusOr<ProcessOptions> OptionsOf(const kube::Json& pod, const PodRecord& record, size_t index) const;
  Status Prepare(const kube::Json& pod, PodRecord& record);
  Status Limit(size_t index, std::string_view name, const kube::Json& resources);
  void CarryOut(const ResizeStep& step, PodRecord& record);
  std::filesystem::path TerminationLog(const std::string& container) const;

  const PodPlatform& platform_;
  const kube::ObjectKey key_;
  std::optional<PodVolumes> volumes_;
  std::optional<PodLimits> pod_limits_;
  struct Container {
    std::optional<Process> process;
    ContainerLimits limits;
    std::filesystem::path termination_log;
  };
  std::vector<Container> containers_;
};

}  // namespace attune::local
