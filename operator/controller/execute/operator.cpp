#include "operator/controller/execute/operator.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/os/file.h"
#include "base/version.h"
#include "operator/controller/execute/executor.h"
#include "operator/controller/execute/metrics.h"
#include "operator/controller/execute/stuck_watch.h"
#include "operator/controller/objects/job_policy.h"
#include "operator/controller/objects/pods.h"
#include "operator/controller/observe/machines.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"
#include "operator/controller/policies/policy_book.h"
#include "operator/controller/policies/policy_reporter.h"
#include "operator/kube/events.h"
#include "operator/kube/watch/reflector.h"
#include "operator/kube/watch/watch_cache.h"
#include "operator/kube/watch/work_queue.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

using kube::CacheChange;
using kube::Json;

Json ProjectJob(Json job) {
  if (job.contains("metadata") && job["metadata"].is_object()) {
    job["metadata"].erase("managedFields");
    if (job["metadata"].contains("annotations") && job["metadata"]["annotations"].is_object()) {
      job["metadata"]["annotations"].erase("kubectl.kubernetes.io/last-applied-configuration");
    }
  }
  return job;
}

const Json& Either(const CacheChange& change) { return change.after != nullptr ? *change.after : *change.before; }

PlanOptions ToPlanOptions(const OperatorOptions& options, const kube::Json& policy_metrics_from,
                          const std::string& telemetry_address, const std::string& telemetry_authority) {
  PlanOptions plan;
  plan.job_policies = options.job_policies;
  plan.policy_metrics_from = policy_metrics_from;
  plan.telemetry_authority = telemetry_authority;
  plan.server_image = options.server_image;
  plan.sidecar_image = options.sidecar_image;
  plan.image_pull_policy = options.image_pull_policy;
  plan.default_model_claim = options.default_model_claim;
  plan.telemetry_address = telemetry_address;
  plan.tuner_history = options.tuner_history;
  plan.status_interval = options.status_interval;
  plan.begin_unheard_after = options.begin_unheard_after;
  return plan;
}

class OperatorImpl final : public Operator {
 public:
  OperatorImpl(const OperatorOptions& options, kube::Api& api, const TimeSource& time)
      : options_(options),
        api_(api),
        time_(time),
        queue_(time),
        jobs_(JobCacheOptions()),
        pods_(PodCacheOptions()),
        services_(OwnedCacheOptions()),
        budgets_(OwnedCacheOptions({{"spec", "minAvailable"}})),
        nodes_(NodeCacheOptions()),
        cluster_policies_(PolicyCacheOptions()),
        own_policies_(PolicyCacheOptions()),
        namespaces_(NamespaceCacheOptions()),
        policies_({cluster_policies_, own_policies_, namespaces_}),
        store_(telemetry::JobStore::Create([this](const telemetry::JobId& job) { return Know(job); })),
        events_(api, time, contract::kFieldManager) {}

  Status Begin() {
    ASSIGN_OR_RETURN(const Json metrics_from, ParsePolicyPeers(options_.policy_metrics_from));
    // One is enough: the reflectors list them all, in pages.
    const Status installed =
        api_.List(kube::kTrainingJobs, {.name_space = options_.name_space, .items_max = 1}).status();
    if (installed.code() == StatusCode::kNotFound) {
      return Error(StatusCode::kFailedPrecondition,
                   "the kind TrainingJob (" + kube::kTrainingJobs.api_version() +
                       ") is not installed; install the chart or apply crds/trainingjob.yaml");
    }
    RETURN_IF_ERROR(installed);
    awaited_ = {&jobs_, &pods_, &services_, &budgets_};
    LookForPolicies();
    store_->OnNews([this](const std::string& name_space, const std::string& job) { queue_.Add({name_space, job}); });
    telemetry::ServiceOptions service{.listen = options_.telemetry_listen,
                                      .report_seconds = options_.report_seconds,
                                      .authenticate = options_.authenticate,
                                      .certificate = std::nullopt};
    std::string authority;
    if (!options_.telemetry_certificates.empty()) RETURN_IF_ERROR(ReadCertificates(service, authority));
    ASSIGN_OR_RETURN(service_, telemetry::Service::Start(service, api_, *store_));
    executor_ = std::make_unique<Executor>(
        api_, time_, Caches{jobs_, pods_, services_, budgets_, nodes_, &policies_}, *store_, *service_, events_,
        ToPlanOptions(options_, metrics_from, telemetry_address(), authority));
    StartReflectors();
    for (int i = 0; i < options_.reconcile_threads; ++i) threads_.emplace_back([this] { Reconcile(); });
    threads_.emplace_back([this] { Tick(); });
    reporter_ = std::make_unique<PolicyReporter>(api_, time_, policies_, jobs_);
    return OkStatus();
  }

  // No more intake, then what is in progress, then the streams.
  ~OperatorImpl() override {
    {
      const MutexLock lock(tick_mutex_);
      stopping_ = true;
    }
    tick_.NotifyAll();
    queue_.ShutDown();
    for (std::thread& thread : threads_) thread.join();
    reporter_.reset();
    watches_.clear();
    store_->OnNews({});
    service_.reset();
  }

  telemetry::JobStore& telemetry() override { return *store_; }
  std::string telemetry_address() const override {
    return options_.telemetry_address.empty() ? service_->address() : options_.telemetry_address;
  }
  std::string NotReady() const override;
  std::string Stuck() override;
  std::string MetricsText() const override;

 private:
  kube::WatchCacheOptions JobCacheOptions() {
    return {.project = ProjectJob, .index_label = "", .on_change = [this](const CacheChange& change) {
              queue_.Add(change.key);
            }};
  }
  kube::WatchCacheOptions PodCacheOptions() {
    return {.project = [](Json pod) { return ProjectPod(pod); },
            .index_label = contract::kLabelJob,
            .on_change = [this](const CacheChange& change) { AddJobOf(change); }};
  }
  kube::WatchCacheOptions OwnedCacheOptions(std::vector<std::vector<std::string>> fields = {}) {
    return {.project = kube::KeepFields(std::move(fields)),
            .index_label = "",
            .on_change = [this](const CacheChange& change) { AddJobOf(change); }};
  }
  // A job is known as long as the cache has it; what was kept of it is forgotten after it has left the cache.
  telemetry::JobKnown Know(const telemetry::JobId& id) const {
    if (!jobs_.HasSynced()) return telemetry::JobKnown::kNotYet;
    const kube::Snapshot job = jobs_.Get({id.name_space, id.name});
    return job != nullptr && kube::Uid(*job) == id.uid ? telemetry::JobKnown::kYes : telemetry::JobKnown::kNo;
  }
  kube::WatchCacheOptions NodeCacheOptions() {
    return {.project = [](Json node) { return ProjectNode(node); },
            .index_label = "",
            .on_change = [this](const CacheChange& change) { AddJobsOn(change); }};
  }
  // A node that comes, goes, fails or is cordoned is news to the jobs that have pods there; its figures are not.
  void AddJobsOn(const CacheChange& change) {
    if (change.before != nullptr && change.after != nullptr) {
      const ObservedNode before = ObserveNode(*change.before), after = ObserveNode(*change.after);
      if (before.ready == after.ready && before.cordoned == after.cordoned) return;
    }
    for (const kube::Snapshot& pod : pods_.All()) {
      if (kube::StringAt(*pod, {"spec", "nodeName"}) != change.key.name) continue;
      queue_.Add({std::string(kube::Namespace(*pod)), std::string(kube::Label(*pod, contract::kLabelJob))});
    }
  }
  kube::WatchCacheOptions PolicyCacheOptions() {
    return {.project = ProjectJob, .index_label = "", .on_change = [this](const CacheChange& change) {
              AddJobsUnder(change);
            }};
  }
  kube::WatchCacheOptions NamespaceCacheOptions() {
    return {.project = kube::KeepFields({}), .index_label = "", .on_change = [this](const CacheChange& change) {
              AddJobsWithin(change);
            }};
  }
  // A policy that is made, changed or deleted is news to the jobs that it selects, or did.
  void AddJobsUnder(const CacheChange& change) {
    for (const kube::Snapshot& job : jobs_.All()) {
      for (const kube::Snapshot& policy : {change.before, change.after}) {
        if (policy != nullptr && policies_.IsAbout(*policy, *job)) queue_.Add(kube::KeyOf(*job));
      }
    }
  }
  // Its labels may select another policy.
  void AddJobsWithin(const CacheChange& change) {
    for (const kube::Snapshot& job : jobs_.All()) {
      if (kube::Namespace(*job) == change.key.name) queue_.Add(kube::KeyOf(*job));
    }
  }
  // Where there may be policies no job is touched before they are known; without them it is said once.
  void LookForPolicies() {
    const auto look = [&](const kube::ResourceType& type, const std::string& name_space, kube::WatchCache& cache) {
      const Status status = api_.List(type, {.name_space = name_space, .items_max = 1}).status();
      const bool none = status.code() == StatusCode::kNotFound || status.code() == StatusCode::kPermissionDenied;
      if (none) {
        log::Info("tuning policies do without this kind until it is installed and may be read",
                  {{"kind", type.kind}, {"reason", status}});
      } else {
        awaited_.push_back(&cache);
      }
    };
    look(kube::kTuningPolicies, options_.name_space, own_policies_);
    look(kube::kClusterTuningPolicies, "", cluster_policies_);
    look(kube::kNamespaces, "", namespaces_);  // otherwise a selector by their labels would select all meanwhile
  }
  void AddJobOf(const CacheChange& change) {
    queue_.Add({change.key.name_space, std::string(kube::Label(Either(change), contract::kLabelJob))});
  }

  Status ReadCertificates(telemetry::ServiceOptions& service, std::string& authority) const {
    constexpr uint64_t kPemBytesMax = 64 << 10;
    const std::filesystem::path directory(options_.telemetry_certificates);
    const auto read = [&](const char* file) -> StatusOr<std::string> {
      StatusOr<std::string> text = ReadFile(directory / file, kPemBytesMax);
      if (text.ok()) return text;
      return Annotate(text.status(), "telemetry certificates (a directory with tls.crt, tls.key and ca.crt)");
    };
    telemetry::ServerCertificate certificate;
    ASSIGN_OR_RETURN(certificate.chain, read(contract::kCertificateFile));
    ASSIGN_OR_RETURN(certificate.private_key, read(contract::kPrivateKeyFile));
    ASSIGN_OR_RETURN(authority, read(contract::kAuthorityFile));
    service.certificate = std::move(certificate);
    return OkStatus();
  }

  void StartReflectors() {
    const kube::ReflectorOptions jobs{.name_space = options_.name_space};
    const kube::ReflectorOptions owned{.name_space = options_.name_space, .label_selector = contract::kLabelJob};
    const auto start = [&](const kube::ResourceType& type, const kube::ReflectorOptions& options,
                           kube::WatchCache& cache) {
      watches_.push_back({type.plural, cache, std::make_unique<kube::Reflector>(api_, type, options, cache, time_)});
    };
    start(kube::kTrainingJobs, jobs, jobs_);
    start(kube::kPods, owned, pods_);
    start(kube::kServices, owned, services_);
    start(kPodDisruptionBudgets, owned, budgets_);
    start(kube::kNodes, {}, nodes_);  // may be forbidden: it is not waited for
    start(kube::kTuningPolicies, jobs, own_policies_);
    start(kube::kClusterTuningPolicies, {}, cluster_policies_);
    start(kube::kNamespaces, {}, namespaces_);
  }

  bool HaveSynced() const {
    return std::ranges::all_of(awaited_, [](const kube::WatchCache* cache) { return cache->HasSynced(); });
  }

  // Absence means nothing before the first lists: no process acts until all are in.
  bool WaitForSync() const {
    constexpr Duration kSlice = std::chrono::milliseconds(200);
    for (const kube::WatchCache* cache : awaited_) {
      while (!cache->WaitForSync(kSlice)) {
        if (stopping_) return false;
      }
    }
    return true;
  }

  void Reconcile() {
    if (!WaitForSync()) return;
    while (const auto key = queue_.Get()) {
      const StatusOr<std::optional<Duration>> again = executor_->Reconcile(*key);
      if (again.ok()) {
        queue_.Forget(*key);
        if (again->has_value()) queue_.AddAfter(*key, **again);
      } else {
        const Duration delay = queue_.AddRateLimited(*key);
        errors_.fetch_add(1, std::memory_order_relaxed);
        // A lost race is ordinary: the next look decides again.
        const auto level = again.status().code() == StatusCode::kAborted ? log::Level::kDebug : log::Level::kWarn;
        log::Write(level, "reconcile failed",
                   {{"job", key->ToString()}, {"error", again.status()}, {"retry_seconds", Seconds(delay)}});
      }
      queue_.Done(*key);
    }
  }

  // So that a pause of this process is seen as one.
  void Tick() {
    constexpr Duration kEvery = std::chrono::milliseconds(500);
    const MutexLock lock(tick_mutex_);
    while (!tick_.WaitFor(tick_mutex_, kEvery, [this] { return stopping_.load(); })) executor_->Tick();
  }

  const OperatorOptions options_;
  kube::Api& api_;
  const TimeSource& time_;
  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> errors_ = 0;
  kube::WorkQueue queue_;
  kube::WatchCache jobs_, pods_, services_, budgets_, nodes_;
  kube::WatchCache cluster_policies_, own_policies_, namespaces_;
  const PolicyBook policies_;
  std::vector<const kube::WatchCache*> awaited_;  // does not change once the threads run
  std::unique_ptr<telemetry::JobStore> store_;
  kube::EventRecorder events_;
  std::unique_ptr<telemetry::Service> service_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<PolicyReporter> reporter_;
  struct WatchOfKind {
    std::string plural;
    kube::WatchCache& cache;
    std::unique_ptr<kube::Reflector> reflector;
  };
  std::vector<WatchOfKind> watches_;  // does not change once the threads run
  Mutex stuck_mutex_;
  StuckWatch stuck_ ABSL_GUARDED_BY(stuck_mutex_);
  std::vector<std::thread> threads_;
  Mutex tick_mutex_;
  CondVar tick_;
};

std::string OperatorImpl::NotReady() const {
  std::string missing;
  for (const WatchOfKind& watch : watches_) {
    if (watch.cache.HasSynced() || std::ranges::find(awaited_, &watch.cache) == awaited_.end()) continue;
    const Status failure = watch.reflector->last_failure();
    missing += (missing.empty() ? "the first list is not in: " : "; ") + watch.plural +
               (failure.ok() ? "" : " (" + attune::ToString(failure) + ")");
  }
  return missing;
}

std::string OperatorImpl::Stuck() {
  const MonotonicTime now = time_.Now();
  std::vector<MovingPart> parts;
  for (const WatchOfKind& watch : watches_) {
    const kube::Reflector::Turn turn = watch.reflector->turn();
    parts.push_back({"the watch of " + watch.plural, turn.number, now <= turn.waits_until});
  }
  const kube::WorkQueueMetrics queue = queue_.metrics();
  parts.push_back({"the work queue", queue.taken, queue.depth == 0 || !HaveSynced()});
  for (const auto& [job, since] : queue_.Running()) {
    parts.push_back(
        {"the reconcile of " + job.ToString(), static_cast<uint64_t>(since.time_since_epoch().count()), false});
  }
  const MutexLock lock(stuck_mutex_);
  return stuck_.Look(parts, now);
}

std::string OperatorImpl::MetricsText() const {
  OperatorMetrics values;
  values.version = kVersion;
  for (const kube::Snapshot& job : jobs_.All()) {
    const std::string name_space(kube::Namespace(*job)), name(kube::Name(*job));
    const telemetry::JobSample sample = store_->Sample({name_space, name, std::string(kube::Uid(*job))}, time_.Now());
    const Json& fraction = kube::At(*job, {"status", "progress", "fraction"});
    JobMetrics& shown =
        values.jobs.emplace_back(JobMetrics{.name_space = name_space,
                                            .name = name,
                                            .progress = fraction.is_number() ? fraction.get<double>() : 0,
                                            .loss = sample.loss,
                                            .samples_per_second = sample.rate,
                                            .workers = sample.job ? static_cast<double>(sample.job->workers()) : 0});
    for (const kube::Snapshot& pod : pods_.ByLabel(name)) {
      const PodResize resize = ObservePod(*pod).resize;
      if (kube::Namespace(*pod) != name_space || !resize.record.any() || resize.record.done) continue;
      ++(resize.state == ResizeState::kDeferred     ? shown.resize_deferred
         : resize.state == ResizeState::kInfeasible ? shown.resize_infeasible
                                                    : shown.resizing);
    }
  }
  values.queue = queue_.metrics();
  values.reconcile_errors = errors_;
  values.plans = static_cast<uint64_t>(executor_->plans());
  values.actions = static_cast<uint64_t>(executor_->actions());
  values.failed_actions = static_cast<uint64_t>(executor_->failed_actions());
  values.dropped_reports = store_->dropped_reports();
  values.implausible_reports = service_->implausible_reports();
  return MetricsPage(values);
}

}  // namespace

StatusOr<std::unique_ptr<Operator>> Operator::Start(const OperatorOptions& options, kube::Api& api,
                                                    const TimeSource& time) {
  auto started = std::make_unique<OperatorImpl>(options, api, time);
  RETURN_IF_ERROR(started->Begin());
  return started;
}

}  // namespace attune::controller
