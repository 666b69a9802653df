// What the jobs of a namespace request and change together, for policies that bound it (spec.resources.perNamespace,
// spec.limits.concurrentChangesPerNamespace): counted from the jobs' objects, with what was decided in this process and
// no cache shows yet. All jobs of the namespace count, whichever policy selects them; each as its spec asks for, so
// that a pod that has not started has its place already.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/time_source.h"
#include "operator/api/training_job.h"
#include "operator/controller/observe/namespace_room.h"
#include "operator/kube/watch/watch_cache.h"
#include "operator/policy/resolve.h"

namespace attune::controller {

// Not thread-safe: a caller that asks for room and decides must hold one lock from the question to Note.
class NamespaceLedger {
 public:
  // `jobs` outlives it.
  explicit NamespaceLedger(const kube::WatchCache& jobs) : jobs_(jobs) {}

  // What `rules` leave to the job beside all others of its namespace. Without such a rule nothing is looked at.
  NamespaceRoom RoomOf(const api::TrainingJob& job, const policy::Effective& rules, MonotonicTime now);
  // What a look at the job has come to. `asked`: decided, and not in this spec.
  void Note(const api::TrainingJob& job, const std::optional<JobSetting>& asked, bool changing, MonotonicTime now);

  // A decision that the spec does not show for so long was not written.
  static constexpr Duration kDecisionCounts = std::chrono::seconds(60);

 private:
  // As its object says.
  struct Shown {
    std::string version;
    Claim claim;  // none of a job that has ended or given its pods back
    bool changing = false;
  };
  struct Noted {
    std::string uid;
    int64_t generation = 0;
    Claim asked;
    bool changing = false;
    MonotonicTime at;
  };

  const Shown& Read(const kube::ObjectKey& key, const kube::Json& object);

  const kube::WatchCache& jobs_;
  std::map<kube::ObjectKey, Shown> shown_;
  std::map<kube::ObjectKey, Noted> noted_;
};

// The pods of a job as they would be made now.
PodClaims PodClaimsOf(const api::TrainingJob& job);

// Limits of memory that this system raises by itself stay within the room: what pods are given already, and an equal
// share of what is left, is the most of each.
void HoldMemory(const NamespaceRoom& room, api::TrainingJob& job);

}  // namespace attune::controller
