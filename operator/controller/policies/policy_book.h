// The policies that there are, as watches show them, and what follows from them for a job.
#pragma once

#include <optional>
#include <vector>

#include "operator/api/training_job.h"
#include "operator/kube/watch/watch_cache.h"
#include "operator/policy/resolve.h"

namespace attune::controller {

// Thread-safe. The caches outlive it; one that never synced (the kind is not installed, or may not be read) is empty.
class PolicyBook {
 public:
  struct Caches {
    const kube::WatchCache& cluster;     // ClusterTuningPolicy
    const kube::WatchCache& own;         // TuningPolicy
    const kube::WatchCache& namespaces;  // for selectors by their labels
  };
  explicit PolicyBook(const Caches& caches) : caches_(caches) {}

  // `object` is what `job` was parsed from. Nothing when no policy selects it.
  std::optional<policy::Effective> InForce(const kube::Json& object, const api::TrainingJob& job, WallTime now) const;
  // What the status of each policy is to say of `jobs`, which are objects of this operator's.
  struct Report {
    api::Policy policy;  // with the status that its object has
    api::PolicyStatus due;
  };
  std::vector<Report> ReportOn(const std::vector<kube::Snapshot>& jobs, WallTime now) const;
  // Whether this policy, as it is or as it was, is about the job.
  bool IsAbout(const kube::Json& policy, const kube::Json& job) const;

 private:
  policy::JobFacts FactsOf(const kube::Json& job, const api::Tuning& tuning) const;

  const Caches caches_;
};

}  // namespace attune::controller
