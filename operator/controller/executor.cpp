#include "operator/controller/executor.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "operator/controller/failure.h"
#include "operator/controller/machines.h"
#include "operator/controller/plan.h"
#include "operator/controller/pods.h"
#include "operator/controller/text.h"
#include "operator/controller/tuning_input.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

using kube::Json;

constexpr Duration kLogTimeout = std::chrono::seconds(5);
constexpr size_t kDirectivesRemembered = 256;
constexpr Duration kCacheLag = std::chrono::seconds(1);  // a change in the cache wakes the job earlier

bool IsGone(const Status& status) { return status.code() == StatusCode::kNotFound; }

// Another object of that name and another uid: what was meant is gone.
bool IsReplaced(const Status& status) { return status.code() == StatusCode::kAborted; }

std::vector<ObservedPod> ObservePods(const kube::WatchCache& cache, const kube::ObjectKey& job) {
  std::vector<ObservedPod> pods;
  for (const kube::Snapshot& pod : cache.ByLabel(job.name)) {
    if (kube::Namespace(*pod) != job.name_space) continue;
    if (ObservedPod seen = ObservePod(*pod); seen.index >= 0) pods.push_back(std::move(seen));
  }
  return pods;
}

}  // namespace

// One reconcile: what was observed, and the plan being carried out.
class Executor::Round {
 public:
  Round(Executor& executor, Memory& memory, const Json& job_object)
      : executor_(executor), memory_(memory), job_object_(job_object), key_(kube::KeyOf(job_object)) {}

  StatusOr<std::optional<Duration>> Run() {
    Observe();
    const Now now{executor_.time_.Now(), executor_.time_.WallNow()};
    ObserveTuning(now);
    const std::vector<Action> plan = Plan(observed_, executor_.options_, now);
    {
      const std::lock_guard lock(executor_.mutex_);
      ++executor_.plans_;
    }
    for (const Action& action : plan) {
      log::Debug("action", {{"job", key_.ToString()}, {"action", Describe(action)}});
      RETURN_IF_ERROR(std::visit([this](const auto& typed) { return Carry(typed); }, action));
      const std::lock_guard lock(executor_.mutex_);
      ++executor_.actions_;
    }
    memory_.tales.clear();
    return requeue_;
  }

 private:
  void Observe() {
    api::ParsedJob parsed = api::ParseTrainingJob(job_object_);
    observed_.job = std::move(parsed.job);
    observed_.problems = std::move(parsed.problems);
    observed_.pods = ObservePods(executor_.caches_.pods, key_);
    observed_.service_exists = Exists(executor_.caches_.services, ServiceName(key_.name));
    observed_.budget_exists = Exists(executor_.caches_.budgets, BudgetName(key_.name));
    if (const kube::Snapshot budget = executor_.caches_.budgets.Get({key_.name_space, BudgetName(key_.name)})) {
      const Json& least = kube::At(*budget, {"spec", "minAvailable"});
      if (least.is_number_integer()) observed_.budget_min_available = least.get<int32_t>();
    }
    observed_.sent = memory_.sent;
    ObserveMachines();
    observed_.sample = executor_.store_.Sample({key_.name_space, key_.name, observed_.job.uid}, executor_.time_.Now());
    observed_.drain_sent = memory_.drain_sent;
    observed_.name_taken = memory_.name_taken;
    observed_.status_written_at = memory_.status_written_at;
    for (const ObservedPod* pod : PodsWhoseLogIsNeeded(observed_)) observed_.log_tails[pod->uid] = ReadLogTail(*pod);
  }

  void ObserveTuning(Now now) {
    const std::lock_guard lock(executor_.tuning_mutex_);
    if (!IsTuned(observed_)) {
      executor_.KeepHistory(memory_);
      memory_.tuning.reset();
      return;
    }
    if (!memory_.tuning) {
      const auto& known = observed_.job.status.tuning;
      memory_.tuning.emplace(known ? known->state : "");
      memory_.tuning->SetHistory(executor_.finished_jobs_.history());
    }
    const TuningInput input = MakeTuningInput(observed_, ViewServers(observed_), ViewWorkers(observed_), now);
    observed_.tuning = memory_.tuning->Step(input, executor_.priors_);
    for (TuningOutput::Tale& tale : observed_.tuning->tales) memory_.tales.push_back(std::move(tale));
    observed_.tuning->tales = memory_.tales;
  }

  // Only while a pod waits for a place: it takes a look at every pod there is.
  void ObserveMachines() {
    const bool waiting = std::ranges::any_of(
        observed_.pods, [](const ObservedPod& pod) { return !pod.scheduled && !pod.unschedulable_message.empty(); });
    if (!waiting || !executor_.caches_.nodes.HasSynced()) return;  // without the right to read nodes it never does
    std::vector<ObservedPod> all;
    for (const kube::Snapshot& pod : executor_.caches_.pods.All()) all.push_back(ObservePod(*pod));
    observed_.machines = FreeMachines(executor_.caches_.nodes.All(), all);
  }

  bool Exists(const kube::WatchCache& cache, const std::string& name) const {
    const kube::Snapshot object = cache.Get({key_.name_space, name});
    return object != nullptr && IsOwnedBy(*object, observed_.job);
  }

  // Best effort: a job's failure is told without its log when the log cannot be read.
  std::string ReadLogTail(const ObservedPod& pod) {
    std::string text;
    kube::LogOptions options;
    options.container = ToString(pod.role);
    options.tail_lines = kLogTailLines;
    options.bytes_max = 64 << 10;
    const Status status = executor_.api_.ReadLog({key_.name_space, pod.name}, options,
                                                 [&](std::string_view piece) {
                                                   text.append(piece);
                                                   return text.size() < (1 << 20);
                                                 },
                                                 {.timeout = kLogTimeout});
    if (!status.ok()) log::Warn("log of an ended pod cannot be read", {{"pod", pod.name}, {"reason", status}});
    return LastLines(text, kLogTailLines, kLogTailBytesMax);
  }

  Status Create(const kube::ResourceType& type, const Json& object) {
    StatusOr<Json> created = executor_.api_.Create(type, object);
    if (created.ok()) {
      memory_.expectations.ExpectWritten(type, *created, executor_.time_.Now());
      memory_.name_taken.reset();
      return OkStatus();
    }
    const kube::ObjectKey key = kube::KeyOf(object);
    if (created.status().code() != StatusCode::kAlreadyExists) {
      return Annotate(created.status(), "creating " + type.kind + " " + key.ToString());
    }
    return OnNameInUse(type, key);
  }

  // The cache may lag behind our own creation, an earlier job's object may still be going, or the name is somebody
  // else's.
  Status OnNameInUse(const kube::ResourceType& type, const kube::ObjectKey& key) {
    ASSIGN_OR_RETURN(const Json present, executor_.api_.Get(type, key));
    if (IsOwnedBy(present, observed_.job)) return OkStatus();
    const std::string text = type.kind + " " + key.ToString() + " exists and does not belong to this job";
    if (!kube::IsBeingDeleted(present) && kube::Label(present, contract::kLabelJob).empty()) {
      memory_.name_taken = text + ": delete it, or give the job another name";
    }
    return Error(StatusCode::kAlreadyExists, text);
  }

  Status Carry(const CreatePod& action) { return Create(kube::kPods, action.pod); }
  Status Carry(const CreateService& action) { return Create(kube::kServices, action.service); }
  Status Carry(const CreatePodDisruptionBudget& action) { return Create(kPodDisruptionBudgets, action.budget); }

  Status Carry(const PatchPod& action) {
    const kube::ObjectKey key{key_.name_space, action.name};
    StatusOr<Json> patched = executor_.api_.Patch(kube::kPods, key, kube::PatchType::kMerge, action.patch);
    if (patched.ok()) {
      memory_.expectations.ExpectWritten(kube::kPods, *patched, executor_.time_.Now());
      return OkStatus();
    }
    if (IsGone(patched.status())) return OkStatus();
    return Annotate(patched.status(), "patching pod " + key.ToString());
  }

  Status Carry(const PatchJob& action) {
    StatusOr<Json> patched = executor_.api_.Patch(kube::kTrainingJobs, key_, kube::PatchType::kMerge, action.patch);
    if (patched.ok()) {
      memory_.expectations.ExpectWritten(kube::kTrainingJobs, *patched, executor_.time_.Now());
      return OkStatus();
    }
    if (IsGone(patched.status()) || IsReplaced(patched.status())) return OkStatus();
    return Annotate(patched.status(), "changing the setting of job " + key_.ToString());
  }

  Status Carry(const DeletePod& action) {
    const kube::ObjectKey key{key_.name_space, action.name};
    const kube::DeleteOptions options{.uid = action.uid, .grace_period_seconds = action.grace_period_seconds};
    const Status status = executor_.api_.Delete(kube::kPods, key, options);
    if (!status.ok() && !IsGone(status) && !IsReplaced(status))
      return Annotate(status, "deleting pod " + key.ToString());
    memory_.expectations.ExpectDeleted(kube::kPods, key, action.uid, executor_.time_.Now());
    return OkStatus();
  }

  Status Carry(const SendDrain& action) {
    v1::Directive directive;
    directive.mutable_drain()->set_reason(action.reason);
    if (executor_.service_.Send(action.uid, directive)) memory_.drain_sent.insert(action.uid);
    return OkStatus();  // a sidecar that is away is asked when it is back, or by SIGTERM
  }

  Status Carry(const SendDirective& action) {
    const MonotonicTime now = executor_.time_.Now();  // before the answer can come
    if (!executor_.service_.Send(action.uid, action.directive, action.key)) return OkStatus();  // asked again later
    if (memory_.sent.size() >= kDirectivesRemembered) {
      memory_.sent.erase(std::min_element(memory_.sent.begin(), memory_.sent.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; }));
    }
    memory_.sent[action.key] = now;
    return OkStatus();
  }

  Status Carry(const PatchPodDisruptionBudget& action) {
    const kube::ObjectKey key{key_.name_space, action.name};
    StatusOr<Json> patched = executor_.api_.Patch(kPodDisruptionBudgets, key, kube::PatchType::kMerge,
                                                  {{"spec", {{"minAvailable", action.min_available}}}});
    if (!patched.ok()) {
      return IsGone(patched.status()) ? OkStatus() : Annotate(patched.status(), "patching budget " + key.ToString());
    }
    memory_.expectations.ExpectWritten(kPodDisruptionBudgets, *patched, executor_.time_.Now());
    return OkStatus();
  }

  Status Carry(const WriteStatus& action) {
    const Json body = {{"apiVersion", kube::kTrainingJobs.api_version()},
                       {"kind", kube::kTrainingJobs.kind},
                       {"metadata",
                        {{"name", key_.name},
                         {"namespace", key_.name_space},
                         {"uid", observed_.job.uid},
                         // A plan from an outdated job must not undo what is newer.
                         {"resourceVersion", observed_.job.resource_version}}},
                       {"status", api::ToJson(action.status)}};
    kube::ApplyOptions options;
    options.field_manager = contract::kFieldManager;
    options.subresource = "status";
    StatusOr<Json> written = executor_.api_.Apply(kube::kTrainingJobs, body, options);
    if (!written.ok()) return Annotate(written.status(), "writing the status of job " + key_.ToString());
    memory_.expectations.ExpectWritten(kube::kTrainingJobs, *written, executor_.time_.Now());
    memory_.status_written_at = executor_.time_.Now();
    return OkStatus();
  }

  Status Carry(const EmitEvent& action) {
    executor_.events_.Record(job_object_,
                             {.type = action.warning ? kube::EventType::kWarning : kube::EventType::kNormal,
                              .reason = action.event_reason,
                              .action = action.action,
                              .note = action.note});
    return OkStatus();
  }

  Status Carry(const DeleteJob&) {
    const Status status = executor_.api_.Delete(kube::kTrainingJobs, key_, {.uid = observed_.job.uid});
    return IsGone(status) || IsReplaced(status) ? OkStatus() : status;
  }

  Status Carry(const RequeueAfter& action) {
    requeue_ = action.delay;
    return OkStatus();
  }

  Executor& executor_;
  Memory& memory_;
  const Json& job_object_;
  const kube::ObjectKey key_;
  Observed observed_;
  std::optional<Duration> requeue_;
};

StatusOr<std::optional<Duration>> Executor::Reconcile(const kube::ObjectKey& job) {
  const kube::Snapshot object = caches_.jobs.Get(job);
  if (object == nullptr) return ReconcileWithoutJob(job);

  const std::shared_ptr<Memory> memory = MemoryOf(job);
  if (memory->job_uid != kube::Uid(*object)) {
    store_.Forget(job.name_space, job.name, std::string(kube::Uid(*object)));
    *memory = Memory{.job_uid = std::string(kube::Uid(*object))};
  }
  kube::Snapshot held;  // what the lookup below points into
  const auto lookup = [&](const kube::ResourceType& type, const kube::ObjectKey& key) -> const Json* {
    const kube::WatchCache& cache = type == kube::kPods           ? caches_.pods
                                    : type == kube::kServices     ? caches_.services
                                    : type == kube::kTrainingJobs ? caches_.jobs
                                                                  : caches_.budgets;
    held = cache.Get(key);
    return held.get();
  };
  if (!memory->expectations.AreMet(lookup, time_.Now())) return kCacheLag;
  return Round(*this, *memory, *object).Run();
}

StatusOr<std::optional<Duration>> Executor::ReconcileWithoutJob(const kube::ObjectKey& job) {
  const std::vector<Action> plan = PlanWithoutJob(ObservePods(caches_.pods, job));
  if (!plan.empty()) {
    // Absence in a cache is a hint; letting go of pods needs the server's word.
    if (StatusOr<Json> present = api_.Get(kube::kTrainingJobs, job); present.ok())
      return kCacheLag;
    else if (!IsGone(present.status()))
      return Annotate(present.status(), "reading job " + job.ToString());
  }
  for (const Action& action : plan) {
    const auto* patch = std::get_if<PatchPod>(&action);
    if (patch == nullptr) continue;
    const StatusOr<Json> patched =
        api_.Patch(kube::kPods, {job.name_space, patch->name}, kube::PatchType::kMerge, patch->patch);
    if (!patched.ok() && !IsGone(patched.status()) && !IsReplaced(patched.status())) return patched.status();
  }
  Forget(job);
  return std::optional<Duration>();
}

Executor::Executor(kube::Api& api, const TimeSource& time, Caches caches, telemetry::JobStore& store,
                   telemetry::Service& service, kube::EventRecorder& events, const PlanOptions& options)
    : api_(api),
      time_(time),
      caches_(caches),
      store_(store),
      service_(service),
      events_(events),
      options_(options),
      finished_jobs_(options.tuner_history) {
  const Status read = finished_jobs_.Open();
  if (!read.ok()) log::Warn("the tuner begins without what it learned of earlier jobs", {{"reason", read}});
}

Executor::~Executor() {
  const std::scoped_lock lock(tuning_mutex_, mutex_);
  for (const auto& [job, memory] : memory_) KeepHistory(*memory);
}

void Executor::KeepHistory(const Memory& memory) {
  auto summary = memory.tuning ? memory.tuning->Summary() : std::nullopt;
  if (!summary) return;
  summary->job = memory.job_uid;
  const Status kept = finished_jobs_.Add(*std::move(summary));
  if (!kept.ok()) log::Warn("what the tuner learned of a job was not kept", {{"reason", kept}});
}

std::shared_ptr<Executor::Memory> Executor::MemoryOf(const kube::ObjectKey& job) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Memory>& memory = memory_[job];
  if (memory == nullptr) memory = std::make_shared<Memory>();
  return memory;
}

void Executor::Forget(const kube::ObjectKey& job) {
  {
    const std::lock_guard lock(mutex_);
    memory_.erase(job);
  }
  // Also of a job that was never reconciled in this process' life: its sidecars may have connected before.
  store_.Forget(job.name_space, job.name);
}

uint64_t Executor::plans() const {
  const std::lock_guard lock(mutex_);
  return plans_;
}

uint64_t Executor::actions() const {
  const std::lock_guard lock(mutex_);
  return actions_;
}

}  // namespace attune::controller
