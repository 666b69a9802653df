// The thin shell around Plan(): gathers an observation from caches, telemetry and logs (observation.h), and carries the
// plan out in its order of need (round.h). An act that fails stops only the acts that need it, is reported once, and is
// tried again by itself (act_failures.h). What cannot be taken back, the end of a job, is planned from what was read
// afresh, not from caches alone. Keeps nothing that a new process could not do without: what it remembers saves
// repeated calls and bridges the moment until the caches show what it has just written.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time_source.h"
#include "operator/controller/execute/job_memory.h"
#include "operator/controller/execute/observation.h"
#include "operator/controller/execute/round.h"
#include "operator/controller/execute/tuners.h"
#include "operator/controller/observe/options.h"
#include "operator/kube/api.h"
#include "operator/kube/events.h"
#include "operator/telemetry/job_store.h"
#include "operator/telemetry/service.h"

namespace attune::controller {

// Thread-safe as long as one key is reconciled by one thread at a time (kube::WorkQueue sees to that).
class Executor {
 public:
  // All arguments must outlive the executor.
  Executor(kube::Api& api, const TimeSource& time, Caches caches, telemetry::JobStore& store,
           telemetry::Service& service, kube::EventRecorder& events, const PlanOptions& options);
  ~Executor();  // keeps what was learned of jobs that are still tuned

  // Often, by a thread of its own: a look that comes late means that this process was paused, and has not listened.
  void Tick();

  // One round for one job. OK: when to look again, if that is known; acts that failed are part of that. Errors, of jobs
  // that are gone: try again after a backoff.
  StatusOr<std::optional<Duration>> Reconcile(const kube::ObjectKey& job);

  uint64_t plans() const { return counts_.plans; }
  uint64_t actions() const { return counts_.actions; }  // tried
  uint64_t failed_actions() const { return counts_.failed_actions; }

 private:
  MonotonicTime ListeningSince() const;
  std::shared_ptr<JobMemory> MemoryOf(const kube::ObjectKey& job);
  StatusOr<std::optional<Duration>> ReconcileWithoutJob(const kube::ObjectKey& job);
  Status CarryOutWithoutJob(const std::string& name_space, const Action& action);
  void Forget(const kube::ObjectKey& job);

  const Caches caches_;
  const PlanOptions options_;
  const std::string process_;
  Tuners tuners_;
  RoundCounts counts_;
  const Round::Tools tools_;

  mutable Mutex mutex_;
  MonotonicTime listening_since_ ABSL_GUARDED_BY(mutex_);
  MonotonicTime last_tick_ ABSL_GUARDED_BY(mutex_);
  std::map<kube::ObjectKey, std::shared_ptr<JobMemory>> memory_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attune::controller
