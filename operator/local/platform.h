// Kubernetes on one machine without Kubernetes: an in-memory API, a node agent that runs pods as processes, and the API
// served over HTTP on loopback so that other terminals (and kubectl) reach it.
//
// What the node agent does differently from a kubelet, so that the same pods run: every pod gets a loopback address of
// its own (127.x.y.z), images are ignored and a container's command is looked up in `program_directories`, then PATH;
// there are no mounts and no DNS, so values of environment variables and arguments that begin with a mount path, and
// names of the form <pod>.<service>.<namespace>.svc in them, are replaced by the real directory and address when a
// container starts.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/api.h"
#include "operator/local/containers/core_limits.h"

namespace attune::local {

struct PlatformOptions {
  std::filesystem::path run_directory;                     // pods' logs, volumes, claims; created
  std::vector<std::filesystem::path> program_directories;  // where attune's own programs lie
  std::string listen = "127.0.0.1:0";                      // API over HTTP; "" = not served
  std::string token;                                       // bearer token of that API; "" = made up
  // Program and first arguments of a pod shim: this program's hidden subcommand that calls PodShimMain.
  std::vector<std::string> shim_command{"/proc/self/exe", "pod-shim"};
  // Start fails where pods cannot be held to them.
  CoreLimits cores = {};
};

// FailedPrecondition where pods of this machine cannot be held to a number of cores. Ok without limits.
Status CheckCoreLimits(const CoreLimits& cores);

class Platform {
 public:
  static StatusOr<std::unique_ptr<Platform>> Start(const PlatformOptions& options, const TimeSource& time);
  // Ends every process of every pod (TERM, then KILL after the grace period, at most a few seconds in all) and returns.
  // Should this process be killed instead, the pods' processes end by themselves.
  virtual ~Platform() = default;

  // The same with another grace period; what is asked of the platform later finds no pod running.
  virtual void Stop(Duration grace) = 0;

  virtual kube::Api& api() = 0;
  virtual std::string url() const = 0;  // http://127.0.0.1:port, "" when not served
  virtual std::string token() const = 0;
  // Log files of a pod, oldest first: <run_directory>/pods/<namespace>/<pod>/<container>/<restart>.log
  virtual std::filesystem::path pod_directory(const kube::ObjectKey& pod) const = 0;
};

}  // namespace attune::local
