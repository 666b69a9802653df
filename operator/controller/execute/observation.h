// What one reconcile of a job sees, gathered from caches, telemetry and logs; where it matters, from the API server.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/controller/execute/job_memory.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/policies/policy_book.h"
#include "operator/controller/queue/queue_book.h"
#include "operator/kube/api.h"
#include "operator/kube/watch/watch_cache.h"
#include "operator/telemetry/job_store.h"

namespace attune::controller {

// What the reflectors keep, by kind.
struct Caches {
  kube::WatchCache& jobs;
  kube::WatchCache& pods;  // projected by ProjectPod, indexed by the job's label
  kube::WatchCache& services;
  kube::WatchCache& budgets;
  kube::WatchCache& nodes;               // never synced where this operator may not read them
  const PolicyBook* policies = nullptr;  // null: there are none
  const QueueBook* queues = nullptr;     // null: jobs wait in none, whatever they say
};

std::vector<ObservedPod> ObservePods(const kube::WatchCache& pods, const kube::ObjectKey& job);

class Observation {
 public:
  // Where it looks; everything outlives it.
  struct Sources {
    kube::Api& api;
    const TimeSource& time;
    const Caches& caches;
    telemetry::JobStore& store;
  };
  Observation(const Sources& sources, JobMemory& memory, const kube::Json& job_object)
      : from_(sources), memory_(memory), job_object_(job_object), key_(kube::KeyOf(job_object)) {}

  // `listening_since`: since when this process has heard sidecars.
  void Gather(MonotonicTime listening_since);
  // From the API server itself: pods that a cache still shows as failed may have been replaced long ago.
  Status ReadAgain();

  Observed& observed() { return observed_; }
  const Observed& observed() const { return observed_; }

 private:
  void ObserveJob(const kube::Json& job);
  void ObserveObjects();
  void ObserveNodes();
  void ObserveMachines();
  void ObserveFailuresInARow();
  void ObserveLogs();
  bool Exists(const kube::WatchCache& cache, const std::string& name) const;
  std::string ReadLogTail(const ObservedPod& pod);

  const Sources from_;
  JobMemory& memory_;
  const kube::Json& job_object_;
  const kube::ObjectKey key_;
  Observed observed_;
};

}  // namespace attune::controller
