// The node of the embedded platform: takes every pod of a MemoryApi, runs its containers as processes under shims,
// resizes them in place, reports their state in the pod's status and finishes deletions. Decisions are those of
// operator/local/pods; this is the shell with processes, files, sockets and time, all touched by one thread of its own
// (log reading comes on the callers' threads and touches files only).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/local/api/memory_api.h"
#include "operator/local/containers/core_limits.h"

namespace attune::local {

struct NodeAgentOptions {
  std::filesystem::path run_directory;
  std::vector<std::filesystem::path> program_directories;
  std::vector<std::string> shim_command;  // program and first arguments of a pod shim
  std::string node_name;                  // "" = the hostname
  uint64_t log_bytes_max = 10 << 20;      // of each of a container's two log files per run
  CoreLimits cores;                       // of the pods
};

class NodeAgent {
 public:
  // `api` and `time` must outlive the agent. Creates the Node object.
  static StatusOr<std::unique_ptr<NodeAgent>> Start(const NodeAgentOptions& options, MemoryApi& api,
                                                    const TimeSource& time);
  // Ends all processes: TERM, then KILL after `grace`, and returns when none is left.
  virtual ~NodeAgent() = default;
  virtual void Stop(Duration grace) = 0;
};

}  // namespace attune::local
