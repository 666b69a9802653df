// The thin shell around Plan(): gathers an observation from caches, telemetry and logs, and carries the plan out in its
// order of need (carrier.h). An act that fails stops only the acts that need it, is reported once, and is tried again
// by itself (act_failures.h). What cannot be taken back, the end of a job, is planned from what was read afresh, not
// from caches alone. Keeps nothing that a new process could not do without: what it remembers saves repeated calls and
// bridges the moment until the caches show what it has just written.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time_source.h"
#include "operator/controller/execute/carrier.h"
#include "operator/controller/observe/act_failures.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"
#include "operator/controller/plan/requests.h"
#include "operator/controller/tuning/history_file.h"
#include "operator/controller/tuning/tuning_loop.h"
#include "operator/kube/api.h"
#include "operator/kube/events.h"
#include "operator/kube/watch/watch_cache.h"
#include "operator/telemetry/job_store.h"
#include "operator/telemetry/service.h"

namespace attune::controller {

// What the reflectors keep, by kind.
struct Caches {
  kube::WatchCache& jobs;
  kube::WatchCache& pods;  // projected by ProjectPod, indexed by the job's label
  kube::WatchCache& services;
  kube::WatchCache& budgets;
  kube::WatchCache& nodes;  // never synced where this operator may not read them
};

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

  uint64_t plans() const;
  uint64_t actions() const;  // tried
  uint64_t failed_actions() const;

 private:
  // Of one job in this process' life; by the thread that reconciles it.
  struct Memory {
    std::string job_uid;
    Done done;
    ActFailures failures;
    std::map<std::string, std::string> log_tails;  // by pod uid, of ends that are not recorded yet
    CheckpointClock checkpoints;
    std::map<std::string, int32_t> failures_in_a_row;  // by pod name, as long as the job may have such a pod
    std::map<RoleName, int64_t> memory_needs;          // resizes.h
    std::optional<TuningLoop> tuning;
    std::vector<TuningOutput::Event> events;  // of the tuner, until they are reported
  };
  class Round;

  std::shared_ptr<Memory> MemoryOf(const kube::ObjectKey& job);
  StatusOr<std::optional<Duration>> ReconcileWithoutJob(const kube::ObjectKey& job);
  void Forget(const kube::ObjectKey& job);
  void KeepHistory(const Memory& memory) ABSL_EXCLUSIVE_LOCKS_REQUIRED(tuning_mutex_);

  kube::Api& api_;
  const TimeSource& time_;
  const Caches caches_;
  telemetry::JobStore& store_;
  telemetry::Service& service_;
  kube::EventRecorder& events_;
  const PlanOptions options_;

  Mutex tuning_mutex_;  // tuners of all jobs think one after the other: milliseconds each
  tuner::PriorCache priors_ ABSL_GUARDED_BY(tuning_mutex_);
  HistoryFile finished_jobs_ ABSL_GUARDED_BY(tuning_mutex_);  // what similar jobs start from

  mutable Mutex mutex_;
  MonotonicTime listening_since_ ABSL_GUARDED_BY(mutex_);
  MonotonicTime last_tick_ ABSL_GUARDED_BY(mutex_);
  std::map<kube::ObjectKey, std::shared_ptr<Memory>> memory_ ABSL_GUARDED_BY(mutex_);
  uint64_t plans_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t actions_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t failed_actions_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace attune::controller
