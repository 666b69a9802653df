#include "operator/controller/execute/executor.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/os/random_seed.h"
#include "base/pause_watch.h"
#include "operator/controller/execute/carrier.h"
#include "operator/controller/objects/job_secret.h"
#include "operator/controller/objects/pods.h"
#include "operator/controller/observe/machines.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/plan.h"
#include "operator/controller/plan/failure.h"
#include "operator/controller/plan/resizes.h"
#include "operator/controller/status/status.h"
#include "operator/controller/tuning/tuning_input.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

using kube::Json;

constexpr Duration kLogTimeout = std::chrono::seconds(2);
constexpr Duration kLogsTimeout = std::chrono::seconds(3);
// After this time a round makes no new calls: one that hangs delays the urgent acts of the next round no longer.
constexpr Duration kRoundMax = std::chrono::seconds(5);
constexpr size_t kPodsRemembered = 4096;
// Between two ticks of a process that runs, and how late one may come.
constexpr Duration kTickEvery = std::chrono::seconds(1), kTickLate = std::chrono::seconds(2);
constexpr Duration kReadAgainAfter = std::chrono::seconds(1);
constexpr Duration kMoreToDo = std::chrono::milliseconds(10);
constexpr size_t kNoteBytesMax = 1000;                   // the API's limit of an Event's note is 1 KiB
constexpr Duration kCacheLag = std::chrono::seconds(1);  // a change in the cache wakes the job earlier

bool IsGone(const Status& status) { return status.code() == StatusCode::kNotFound; }

// Another object of that name and another uid: what was meant is gone.
bool IsReplaced(const Status& status) { return status.code() == StatusCode::kAborted; }

void AddPod(const Json& pod, std::vector<ObservedPod>& pods) {
  if (ObservedPod seen = ObservePod(pod); seen.index >= 0) pods.push_back(std::move(seen));
}

std::vector<ObservedPod> ObservePods(const kube::WatchCache& cache, const kube::ObjectKey& job) {
  std::vector<ObservedPod> pods;
  for (const kube::Snapshot& pod : cache.ByLabel(job.name)) {
    if (kube::Namespace(*pod) == job.name_space) AddPod(*pod, pods);
  }
  return pods;
}

}  // namespace

// One reconcile: what was observed, and the plan being carried out.
class Executor::Round {
 public:
  Round(Executor& executor, Memory& memory, const Json& job_object)
      : executor_(executor), memory_(memory), job_object_(job_object), key_(kube::KeyOf(job_object)) {}

  // When to look again, if that is known.
  std::optional<Duration> Run() {
    Observe();
    const Now now{executor_.time_.Now(), executor_.time_.WallNow()};
    observed_.checkpoint_since = memory_.checkpoints.Since(observed_.job, now);
    ObserveTuning(now);
    std::vector<Step> plan = Plan(observed_, executor_.options_, now);
    if (EndsJob(plan)) {
      const Status read = ReadAgain();
      if (!read.ok())
        log::Warn("the end of a job waits for the API server", {{"job", key_.ToString()}, {"reason", read}});
      if (!read.ok()) return kReadAgainAfter;
      plan = Plan(observed_, executor_.options_, now);
    }
    CarryOut(std::move(plan));
    ReportFailures();
    return requeue_;
  }

 private:
  // What fails, or has to wait, stops only what needs it.
  void CarryOut(std::vector<Step> plan) {
    const MonotonicTime end = executor_.time_.Now() + kRoundMax;
    Carrier carrier(executor_.api_, executor_.time_, executor_.service_, executor_.events_, observed_.job, job_object_,
                    memory_.done);
    std::set<std::string> wanted;
    std::vector<bool> succeeded(plan.size(), false);
    for (size_t i = 0; i < plan.size(); ++i) {
      wanted.insert(Identity(plan[i].action));
      if (const auto* requeue = std::get_if<RequeueAfter>(&plan[i].action)) {
        LookAgainIn(requeue->delay);
      } else if (executor_.time_.Now() >= end && !IsImmediate(plan[i].action)) {
        LookAgainIn(kMoreToDo);  // the urgent ones of the next round come first again
      } else if (IsReady(plan[i], succeeded)) {
        succeeded[i] = Try(carrier, plan[i].action);
      } else {
        // It waits for another act, which has a time of its own, and no longer for its own next try.
        memory_.failures.OnSuccess(Identity(plan[i].action));
      }
    }
    memory_.failures.Keep(wanted);
    memory_.events.clear();
    if (const MonotonicTime next = memory_.failures.NextTry(); next != kNever) {
      LookAgainIn(next - executor_.time_.Now());
    }
    const MutexLock lock(executor_.mutex_);
    ++executor_.plans_;
  }

  // No call to the API server.
  static bool IsImmediate(const Action& action) {
    return std::holds_alternative<EmitEvent>(action) || std::holds_alternative<SendDirective>(action) ||
           std::holds_alternative<SendDrain>(action);
  }

  // An Event about several acts says how many were done.
  static bool IsReady(Step& step, const std::vector<bool>& succeeded) {
    const auto done = std::ranges::count_if(step.needs, [&](size_t need) { return succeeded[need]; });
    const auto all = static_cast<std::ptrdiff_t>(step.needs.size());
    auto* event = std::get_if<EmitEvent>(&step.action);
    if (event == nullptr || done == all) return done == all;
    event->note += " (" + std::to_string(done) + " of " + std::to_string(all) + " steps done so far)";
    return done > 0;
  }

  bool Try(Carrier& carrier, const Action& action) {
    const std::string identity = Identity(action), kind = KindOf(action);
    if (!memory_.failures.MayTry(kind, identity, executor_.time_.Now())) return false;
    log::Debug("action", {{"job", key_.ToString()}, {"action", Describe(action)}});
    const Status status = carrier.Carry(action);
    const MutexLock lock(executor_.mutex_);
    ++executor_.actions_;
    if (status.ok()) {
      memory_.failures.OnSuccess(identity);
      return true;
    }
    ++executor_.failed_actions_;
    const Duration delay = memory_.failures.OnFailure(kind, identity, status, executor_.time_.Now());
    // A lost race is ordinary: the next look decides again.
    const auto level = status.code() == StatusCode::kAborted ? log::Level::kDebug : log::Level::kWarn;
    log::Write(level, "action failed",
               {{"job", key_.ToString()}, {"action", identity}, {"error", status}, {"retry_seconds", Seconds(delay)}});
    return false;
  }

  // The condition follows with the next plan; the Event needs no status that can be written.
  void ReportFailures() {
    for (const BlockedAct& act : memory_.failures.TakeNews()) {
      executor_.events_.Record(job_object_, {.type = kube::EventType::kWarning,
                                             .reason = act.reason,
                                             .action = "Reconcile",
                                             .note = FitText(act.message, kNoteBytesMax)});
      LookAgainIn(kMoreToDo);
    }
  }

  void LookAgainIn(Duration delay) {
    delay = std::max(delay, kMoreToDo);
    if (!requeue_ || delay < *requeue_) requeue_ = delay;
  }

  // An end is final.
  bool EndsJob(const std::vector<Step>& plan) const {
    return !HasEnded(observed_.job.status) && std::ranges::any_of(plan, [](const Step& step) {
      const auto* write = std::get_if<WriteStatus>(&step.action);
      return write != nullptr && HasEnded(write->status);
    });
  }

  // From the API server itself: pods that a cache still shows as failed may have been replaced long ago.
  Status ReadAgain() {
    constexpr kube::CallOptions kCall{.timeout = Carrier::kCallTimeout};
    ASSIGN_OR_RETURN(const Json job, executor_.api_.Get(kube::kTrainingJobs, key_, kCall));
    if (kube::Uid(job) != observed_.job.uid) return Error(StatusCode::kAborted, "it is another job by now");
    ASSIGN_OR_RETURN(const kube::ListResult pods,
                     executor_.api_.List(kube::kPods,
                                         {.name_space = key_.name_space,
                                          .label_selector = std::string(contract::kLabelJob) + "=" + key_.name},
                                         kCall));
    ObserveJob(job);
    observed_.pods.clear();
    for (const Json& pod : pods.items) AddPod(pod, observed_.pods);
    ObserveNodes();
    ObserveFailuresInARow();
    ObserveLogs();
    return OkStatus();
  }

  void ObserveJob(const Json& job) {
    api::ParsedJob parsed = api::ParseTrainingJob(job);
    observed_.job = std::move(parsed.job);
    observed_.problems = std::move(parsed.problems);
  }

  void Observe() {
    ObserveJob(job_object_);
    observed_.pods = ObservePods(executor_.caches_.pods, key_);
    observed_.service_exists = Exists(executor_.caches_.services, ServiceName(key_.name));
    observed_.budget_exists = Exists(executor_.caches_.budgets, BudgetName(key_.name));
    if (const kube::Snapshot budget = executor_.caches_.budgets.Get({key_.name_space, BudgetName(key_.name)})) {
      const Json& least = kube::At(*budget, {"spec", "minAvailable"});
      if (least.is_number_integer()) observed_.budget_min_available = least.get<int32_t>();
    }
    observed_.fresh_secret = SecretName(key_.name, RandomSeed());
    observed_.secret_exists = memory_.done.secret_exists;
    observed_.policy_seen_at = memory_.done.policy_seen_at;
    observed_.sent = memory_.done.sent;
    {
      const MutexLock lock(executor_.mutex_);
      observed_.listening_since = executor_.listening_since_;
    }
    ObserveNodes();
    ObserveMachines();
    ObserveFailuresInARow();
    observed_.sample = executor_.store_.Sample({key_.name_space, key_.name, observed_.job.uid}, executor_.time_.Now());
    observed_.drain_sent = memory_.done.drain_sent;
    observed_.blocked = memory_.failures.Blocked();
    observed_.status_written_at = memory_.done.status_written_at;
    ObserveLogs();
  }

  void ObserveTuning(Now now) {
    const MutexLock lock(executor_.tuning_mutex_);
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
    const ServersView servers = ViewServers(observed_, executor_.options_, now);
    const TuningInput input =
        MakeTuningInput(observed_, servers, ViewWorkers(observed_, servers, executor_.options_, now), now);
    observed_.tuning = memory_.tuning->Step(input, executor_.priors_);
    for (TuningOutput::Event& event : observed_.tuning->events) memory_.events.push_back(std::move(event));
    observed_.tuning->events = memory_.events;
  }

  void ObserveNodes() {
    if (!executor_.caches_.nodes.HasSynced()) return;  // without the right to read nodes it never does
    observed_.nodes.emplace();
    for (const ObservedPod& pod : observed_.pods) {
      if (pod.node.empty()) continue;
      if (const kube::Snapshot node = executor_.caches_.nodes.Get({"", pod.node})) {
        observed_.nodes->emplace(pod.node, ObserveNode(*node));
      }
    }
  }

  // The mark, and the limit at which it was killed, go with the pod; its successor is made a moment later.
  void ObserveFailuresInARow() {
    for (const ObservedPod& pod : observed_.pods) {
      const bool counts = pod.failure_number && pod.job_uid == observed_.job.uid;
      if (counts) memory_.failures_in_a_row[pod.name] = pod.failures_in_a_row;
    }
    while (memory_.failures_in_a_row.size() > kPodsRemembered)
      memory_.failures_in_a_row.erase(memory_.failures_in_a_row.begin());
    observed_.failures_in_a_row = memory_.failures_in_a_row;
    observed_.memory_needs = memory_.memory_needs = MemoryNeeds(observed_, memory_.memory_needs);
  }

  void ObserveMachines() {
    // Without the right to read nodes the cache never does.
    if (!NeedsMachines(observed_) || !executor_.caches_.nodes.HasSynced()) return;
    std::vector<ObservedPod> all;
    for (const kube::Snapshot& pod : executor_.caches_.pods.All()) all.push_back(ObservePod(*pod));
    observed_.machines = FreeMachines(executor_.caches_.nodes.All(), all);
  }

  bool Exists(const kube::WatchCache& cache, const std::string& name) const {
    const kube::Snapshot object = cache.Get({key_.name_space, name});
    return object != nullptr && IsOwnedBy(*object, observed_.job);
  }

  // Each log is read once. A machine that does not answer must not hold up what is urgent: what cannot be read within
  // a few seconds, all logs together, is done without.
  void ObserveLogs() {
    std::map<std::string, std::string> known;
    known.swap(memory_.log_tails);
    const MonotonicTime end = executor_.time_.Now() + kLogsTimeout;
    for (const ObservedPod* pod : PodsWhoseLogIsNeeded(observed_)) {
      const auto found = known.find(pod->uid);
      const bool late = executor_.time_.Now() >= end;
      memory_.log_tails[pod->uid] = found != known.end() ? found->second : late ? "" : ReadLogTail(*pod);
    }
    observed_.log_tails = memory_.log_tails;
  }

  // Best effort: a job's failure is reported without its log when the log cannot be read.
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

  Executor& executor_;
  Memory& memory_;
  const Json& job_object_;
  const kube::ObjectKey key_;
  Observed observed_;
  std::optional<Duration> requeue_;
};

void Executor::Tick() {
  const MonotonicTime now = time_.Now();
  const MutexLock lock(mutex_);
  if (PausedFor(last_tick_ + kTickEvery, now, kTickLate) > Duration::zero()) listening_since_ = now;
  last_tick_ = now;
}

StatusOr<std::optional<Duration>> Executor::Reconcile(const kube::ObjectKey& job) {
  Tick();
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
  if (!memory->done.expectations.AreMet(lookup, time_.Now())) return kCacheLag;
  return Round(*this, *memory, *object).Run();
}

StatusOr<std::optional<Duration>> Executor::ReconcileWithoutJob(const kube::ObjectKey& job) {
  const std::vector<Step> plan = PlanWithoutJob(ObservePods(caches_.pods, job));
  if (!plan.empty()) {
    // Absence in a cache is a hint; letting go of pods needs the server's word.
    if (StatusOr<Json> present = api_.Get(kube::kTrainingJobs, job); present.ok())
      return kCacheLag;
    else if (!IsGone(present.status()))
      return Annotate(present.status(), "reading job " + job.ToString());
  }
  Status all;
  for (const Step& step : plan) {
    const auto* patch = std::get_if<PatchPod>(&step.action);
    if (patch == nullptr) continue;
    const Status status =
        api_.Patch(kube::kPods, {job.name_space, patch->name}, kube::PatchType::kMerge, patch->patch).status();
    if (!status.ok() && !IsGone(status) && !IsReplaced(status)) all.Update(status);
  }
  RETURN_IF_ERROR(all);
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
      finished_jobs_(options.tuner_history),
      listening_since_(time.Now()),
      last_tick_(listening_since_) {
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
  const MutexLock lock(mutex_);
  std::shared_ptr<Memory>& memory = memory_[job];
  if (memory == nullptr) memory = std::make_shared<Memory>();
  return memory;
}

void Executor::Forget(const kube::ObjectKey& job) {
  {
    const MutexLock lock(mutex_);
    memory_.erase(job);
  }
  // Also of a job that was never reconciled in this process' life: its sidecars may have connected before.
  store_.Forget(job.name_space, job.name);
}

uint64_t Executor::plans() const {
  const MutexLock lock(mutex_);
  return plans_;
}

uint64_t Executor::failed_actions() const {
  const MutexLock lock(mutex_);
  return failed_actions_;
}

uint64_t Executor::actions() const {
  const MutexLock lock(mutex_);
  return actions_;
}

}  // namespace attune::controller
