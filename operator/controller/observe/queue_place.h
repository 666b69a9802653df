// What is seen of a job's place in a queue of Kueue (docs/queues.md): plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "operator/controller/observe/names.h"
#include "operator/kube/object.h"

namespace attune::controller {

inline const kube::ResourceType kWorkloads{"kueue.x-k8s.io", "v1beta2", "workloads", "Workload"};
inline const kube::ResourceType kResourceFlavors{"kueue.x-k8s.io", "v1beta2", "resourceflavors", "ResourceFlavor",
                                                 false};
inline constexpr char kLabelQueue[] = "kueue.x-k8s.io/queue-name";  // of a job: the LocalQueue that admits it
inline constexpr char kAnnotationShape[] = "attune.dev/shape";      // of a Workload: ShapeOf its pod sets

// The fields of a Workload that decisions are made from. Several conditions may hold at once: one that is evicted keeps
// its quota until its job has no pods any more.
struct ObservedWorkload {
  std::string name, uid, resource_version;
  int64_t generation = 0;
  std::string queue;
  std::string shape;  // of the pods that it was made for (queue/workload.h)
  bool being_deleted = false;
  bool active = true;     // spec.active: people or Kueue may switch it off
  bool reserved = false;  // it has quota
  bool admitted = false;  // and its admission checks have passed
  bool evicted = false;   // the quota is to be given back
  bool finished = false;
  std::optional<bool> pods_ready;                 // as this operator has reported
  std::string wait, evicted_reason, why_evicted;  // in Kueue's words
  // That were admitted, all pods together; absent: the queue counts none of it.
  std::optional<int64_t> millicores, bytes;
  std::map<RoleName, std::set<std::string>> flavors;  // names of ResourceFlavors
  kube::Json conditions = kube::Json::array();        // whole, to be written back with changes
};

// Objects come from outside: whatever is missing or malformed reads as its default.
ObservedWorkload ObserveWorkload(const kube::Json& workload);

struct QueuePlace {
  std::string queue;                         // that the job names; "": none any more, and its Workload is to go
  bool readable = false;                     // Workloads are installed, and this operator may read them
  std::optional<ObservedWorkload> workload;  // of the job
  std::string hold;                          // why the job is to have no pods now; "": it may have them
};

}  // namespace attune::controller
