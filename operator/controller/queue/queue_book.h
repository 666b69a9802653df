// What Kueue's objects say of a job that names one of its queues, and what follows for its pods.
#pragma once

#include <optional>
#include <string>

#include "operator/api/training_job.h"
#include "operator/controller/observe/namespace_room.h"
#include "operator/controller/observe/queue_place.h"
#include "operator/kube/watch/watch_cache.h"

namespace attune::controller {

// Why the job is to have no pods now; "": it may have them. A job that has pods loses them only on a Workload's word:
// what cannot be read, or is not there, says nothing of its quota. `claim`: what its pods request by its spec.
std::string HoldOf(const QueuePlace& place, bool has_begun, const Claim& claim);

// What the tuner may choose lies within what was admitted: `room` has no more than that.
void HoldToAdmitted(const QueuePlace& place, const api::TrainingJob& job, NamespaceRoom& room);

// Thread-safe. The caches outlive it; one that never synced (Kueue is not installed, or may not be read) says nothing.
class QueueBook {
 public:
  struct Caches {
    const kube::WatchCache& workloads;
    const kube::WatchCache& flavors;  // ResourceFlavor
  };
  explicit QueueBook(const Caches& caches) : caches_(caches) {}

  // Nothing for a job that names no queue; `object` is what `job` was parsed from. The pods of one that is admitted are
  // to run on the machines of its flavors: its templates are changed so.
  std::optional<QueuePlace> PlaceOf(const kube::Json& object, api::TrainingJob& job) const;

 private:
  // "": they are known, and the templates ask for their machines.
  std::string ApplyFlavors(const ObservedWorkload& workload, api::TrainingJob& job) const;

  const Caches caches_;
};

}  // namespace attune::controller
