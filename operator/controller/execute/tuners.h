// The tuners of all jobs that this process reconciles: what they share, and what is kept of a job when its tuning ends.
#pragma once

#include <string>

#include "base/mutex.h"
#include "operator/controller/execute/job_memory.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"
#include "operator/controller/policies/namespace_ledger.h"
#include "operator/controller/tuning/history_file.h"

namespace attune::controller {

// Thread-safe; a job's memory belongs to the thread that reconciles it.
class Tuners {
 public:
  // `history_file` "": a ConfigMap of each namespace. `jobs`, all that are watched, outlives this.
  Tuners(const std::string& history_file, const kube::WatchCache& jobs);

  // Lets the job's tuner think about what was observed, within what policies leave of the namespace, and adds what came
  // of it.
  void Step(Observed& observed, JobMemory& memory, const PlanOptions& options, Now now);
  // What the tuner learned of a job, for jobs like it, when this process ends.
  void Keep(JobMemory& memory);

 private:
  void KeepLocked(JobMemory& memory) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool has_file_;
  Mutex mutex_;  // tuners of all jobs think one after the other: milliseconds each
  tuner::PriorCache priors_ ABSL_GUARDED_BY(mutex_);
  HistoryFile finished_jobs_ ABSL_GUARDED_BY(mutex_);  // what similar jobs start from
  NamespaceLedger ledger_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attune::controller
