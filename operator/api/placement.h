// Where the pods of a job are to be relative to each other: spec.placement. A preference, which never keeps a pod from
// being placed (docs/steering.md).
#pragma once

#include <string>

namespace attune::api {

inline constexpr char kHostnameTopology[] = "kubernetes.io/hostname";

enum class ServerPlacement {
  kAny,          // where kube-scheduler puts them; running pods stay
  kSpread,       // as few as possible of them on a machine
  kPack,         // with as many pods of the job as possible
  kWithWorkers,  // on machines where workers run
};

enum class WorkerPlacement { kAny, kSpread, kPack };

// As a manifest writes them.
std::string ToString(ServerPlacement rule);
std::string ToString(WorkerPlacement rule);

struct Placement {
  ServerPlacement servers = ServerPlacement::kAny;
  WorkerPlacement workers = WorkerPlacement::kAny;
  // What counts as one place when a pod is made. Running pods move between machines, whatever it says.
  std::string topology_key = kHostnameTopology;
};

}  // namespace attune::api
