#include "operator/controller/execute/executor.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/os/random_seed.h"
#include "base/pause_watch.h"
#include "operator/controller/execute/carrier.h"
#include "operator/controller/plan.h"

namespace attune::controller {
namespace {

using kube::Json;

// Between two ticks of a process that runs, and how late one may come.
constexpr Duration kTickEvery = std::chrono::seconds(1), kTickLate = std::chrono::seconds(2);
constexpr Duration kCacheLag = std::chrono::seconds(1);  // a change in the cache wakes the job earlier

}  // namespace

void Executor::Tick() {
  const MonotonicTime now = tools_.sources.time.Now();
  const MutexLock lock(mutex_);
  if (PausedFor(last_tick_ + kTickEvery, now, kTickLate) > Duration::zero()) listening_since_ = now;
  last_tick_ = now;
}

MonotonicTime Executor::ListeningSince() const {
  const MutexLock lock(mutex_);
  return listening_since_;
}

StatusOr<std::optional<Duration>> Executor::Reconcile(const kube::ObjectKey& job) {
  Tick();
  const kube::Snapshot object = caches_.jobs.Get(job);
  if (object == nullptr) return ReconcileWithoutJob(job);

  const std::shared_ptr<JobMemory> memory = MemoryOf(job);
  if (memory->job_uid != kube::Uid(*object)) {
    tools_.sources.store.Forget(job.name_space, job.name, std::string(kube::Uid(*object)));
    *memory = JobMemory{.job_uid = std::string(kube::Uid(*object))};
  }
  kube::Snapshot held;  // what the lookup below points into
  const auto lookup = [&](const kube::ResourceType& type, const kube::ObjectKey& key) -> Expectations::Seen {
    const kube::WatchCache& cache = type == kube::kPods           ? caches_.pods
                                    : type == kube::kServices     ? caches_.services
                                    : type == kube::kTrainingJobs ? caches_.jobs
                                                                  : caches_.budgets;
    held = cache.Get(key);
    return {held.get(), cache.newest_version()};
  };
  if (!memory->done.expectations.AreMet(lookup, tools_.sources.time.Now())) return kCacheLag;
  return Round(tools_, *memory, *object).Run(ListeningSince());
}

Status Executor::CarryOutWithoutJob(const std::string& name_space, const Action& action) {
  if (const auto* patch = std::get_if<PatchPod>(&action)) {
    return tools_.sources.api.Patch(kube::kPods, {name_space, patch->name}, kube::PatchType::kMerge, patch->patch)
        .status();
  }
  if (const auto* deletion = std::get_if<DeletePod>(&action)) {
    return tools_.sources.api.Delete(kube::kPods, {name_space, deletion->name},
                                     {.uid = deletion->uid, .grace_period_seconds = deletion->grace_period_seconds});
  }
  return OkStatus();  // such a plan has no others
}

StatusOr<std::optional<Duration>> Executor::ReconcileWithoutJob(const kube::ObjectKey& job) {
  const std::vector<Step> plan = PlanWithoutJob(ObservePods(caches_.pods, job), tools_.sources.time.WallNow());
  if (!plan.empty()) {
    // Absence in a cache is a hint; letting go of pods needs the server's word.
    if (StatusOr<Json> present = tools_.sources.api.Get(kube::kTrainingJobs, job); present.ok())
      return kCacheLag;
    else if (!IsGone(present.status()))
      return Annotate(present.status(), "reading job " + job.ToString());
  }
  Status all;
  for (const Step& step : plan) {
    const Status status = CarryOutWithoutJob(job.name_space, step.action);
    if (!status.ok() && !IsGone(status) && !IsReplaced(status)) all.Update(status);
  }
  RETURN_IF_ERROR(all);
  Forget(job);
  return std::optional<Duration>();
}

Executor::Executor(kube::Api& api, const TimeSource& time, Caches caches, telemetry::JobStore& store,
                   telemetry::Service& service, kube::EventRecorder& events, const PlanOptions& options)
    : caches_(caches),
      options_(options),
      process_(absl::StrFormat("%016x", RandomSeed())),
      tuners_(options.tuner_history, caches.jobs),
      tools_{{api, time, caches_, store}, service, events, options_, tuners_, process_, counts_},
      listening_since_(time.Now()),
      last_tick_(listening_since_) {}

Executor::~Executor() {
  const MutexLock lock(mutex_);
  for (const auto& [job, memory] : memory_) tuners_.Keep(*memory);
}

std::shared_ptr<JobMemory> Executor::MemoryOf(const kube::ObjectKey& job) {
  const MutexLock lock(mutex_);
  std::shared_ptr<JobMemory>& memory = memory_[job];
  if (memory == nullptr) memory = std::make_shared<JobMemory>();
  return memory;
}

void Executor::Forget(const kube::ObjectKey& job) {
  {
    const MutexLock lock(mutex_);
    memory_.erase(job);
  }
  // Also of a job that was never reconciled in this process' life: its sidecars may have connected before.
  tools_.sources.store.Forget(job.name_space, job.name);
}

}  // namespace attune::controller
