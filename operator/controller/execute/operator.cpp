#include "operator/controller/execute/operator.h"

#include <atomic>
#include <filesystem>
#include <vector>

#include "base/check.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/os/file.h"
#include "base/version.h"
#include "operator/controller/execute/executor.h"
#include "operator/controller/execute/reconcile_loop.h"
#include "operator/controller/execute/stuck_watch.h"
#include "operator/controller/metrics/durations.h"
#include "operator/controller/metrics/metrics.h"
#include "operator/controller/objects/job_policy.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"
#include "operator/controller/policies/policy_reporter.h"
#include "operator/controller/watches/job_watches.h"
#include "operator/kube/events.h"
#include "operator/kube/measured_api.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

using kube::Json;

PlanOptions ToPlanOptions(const OperatorOptions& options, const kube::Json& policy_metrics_from,
                          const std::string& telemetry_address, const std::string& telemetry_authority) {
  PlanOptions plan;
  plan.job_policies = options.job_policies;
  plan.policy_metrics_from = policy_metrics_from;
  plan.telemetry_authority = telemetry_authority;
  plan.server_image = options.server_image;
  plan.sidecar_image = options.sidecar_image;
  plan.image_pull_policy = options.image_pull_policy;
  plan.image_pull_secrets = options.image_pull_secrets;
  plan.default_model_claim = options.default_model_claim;
  plan.telemetry_address = telemetry_address;
  plan.tuner_history = options.tuner_history;
  plan.status_interval = options.status_interval;
  plan.counts_interval = std::min<Duration>(std::chrono::seconds(1), options.status_interval);
  plan.begin_unheard_after = options.begin_unheard_after;
  return plan;
}

class OperatorImpl final : public Operator {
 public:
  OperatorImpl(const OperatorOptions& options, kube::Api& api, const TimeSource& time)
      : options_(options),
        time_(time),
        api_(api, time, [this](const kube::FinishedCall& call) { durations_.OnCall(call); }),
        loop_(time),
        watches_(options.name_space, api_, time, [this](const kube::ObjectKey& job) { OnNews(job); }),
        store_(telemetry::JobStore::Create([this](const telemetry::JobId& job) { return Know(job); })),
        events_(api_, time, contract::kFieldManager) {}

  Status Begin() {
    // What cannot be used is said at once, and not when this process is needed.
    RETURN_IF_ERROR(ParsePolicyPeers(options_.policy_metrics_from).status());
    telemetry::ServiceOptions service;
    std::string authority;
    RETURN_IF_ERROR(ReadCertificates(service, authority));
    return watches_.Begin();
  }

  Status Lead() override {
    ATTUNE_CHECK(executor_ == nullptr) << "an operator begins to lead once";
    ASSIGN_OR_RETURN(const Json metrics_from, ParsePolicyPeers(options_.policy_metrics_from));
    telemetry::ServiceOptions service{.listen = options_.telemetry_listen,
                                      .report_seconds = options_.report_seconds,
                                      .authenticate = options_.authenticate,
                                      .proof = options_.token_proof,
                                      .certificate = std::nullopt,
                                      .may_direct = options_.may_direct};
    std::string authority;
    RETURN_IF_ERROR(ReadCertificates(service, authority));
    store_->OnNews([this](const std::string& name_space, const std::string& job) { loop_.Add({name_space, job}); });
    ASSIGN_OR_RETURN(service_, telemetry::Service::Start(service, api_, *store_));
    executor_ = std::make_unique<Executor>(
        api_, time_,
        Caches{watches_.jobs, watches_.pods, watches_.services, watches_.budgets, watches_.nodes, &watches_.policies(),
               options_.queues ? &watches_.queues() : nullptr},
        *store_, *service_, events_, ToPlanOptions(options_, metrics_from, telemetry_address(), authority));
    leads_ = true;
    watches_.ReportAll();
    loop_.Start(options_.reconcile_threads,
                {.wait_until_ready = [this](const auto& stopping) { return watches_.WaitForSync(stopping); },
                 .reconcile = [this](const kube::ObjectKey& job) { return executor_->Reconcile(job); },
                 .on_reconciled = [this](Duration taken) { durations_.OnReconcile(taken); },
                 .tick = [this] { executor_->Tick(); }});
    reporter_ = std::make_unique<PolicyReporter>(api_, time_, watches_.policies(), watches_.jobs);
    return OkStatus();
  }

  // No more intake, then what is in progress, then the streams.
  ~OperatorImpl() override {
    loop_.Stop();
    reporter_.reset();
    watches_.End();
    store_->OnNews({});
    service_.reset();
  }

  telemetry::JobStore& telemetry() override { return *store_; }
  std::string telemetry_address() const override {
    if (!options_.telemetry_address.empty()) return options_.telemetry_address;
    return service_ == nullptr ? "" : service_->address();
  }
  std::string NotReady() const override { return watches_.NotReady(); }
  std::string Stuck() override;
  std::string MetricsText() const override;

 private:
  // Standing by, all that there is will be looked at when this process leads.
  void OnNews(const kube::ObjectKey& job) {
    if (leads_) loop_.Add(job);
  }
  // A job is known as long as the cache has it; what was kept of it is forgotten after it has left the cache.
  telemetry::JobKnown Know(const telemetry::JobId& id) const {
    if (!watches_.jobs.HasSynced()) return telemetry::JobKnown::kNotYet;
    const kube::Snapshot job = watches_.jobs.Get({id.name_space, id.name});
    return job != nullptr && kube::Uid(*job) == id.uid ? telemetry::JobKnown::kYes : telemetry::JobKnown::kNo;
  }

  // Nothing without a directory of certificates.
  Status ReadCertificates(telemetry::ServiceOptions& service, std::string& authority) const {
    if (options_.telemetry_certificates.empty()) return OkStatus();
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

  const OperatorOptions options_;
  const TimeSource& time_;
  Durations durations_;
  kube::MeasuredApi api_;
  std::atomic<bool> leads_ = false;  // what follows Lead() is there, and does not change any more
  ReconcileLoop loop_;
  JobWatches watches_;
  std::unique_ptr<telemetry::JobStore> store_;
  kube::EventRecorder events_;
  std::unique_ptr<telemetry::Service> service_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<PolicyReporter> reporter_;
  Mutex stuck_mutex_;
  StuckWatch stuck_ ABSL_GUARDED_BY(stuck_mutex_);
};

std::string OperatorImpl::Stuck() {
  const MonotonicTime now = time_.Now();
  std::vector<MovingPart> parts;
  for (const JobWatches::Turn& turn : watches_.Turns(now)) {
    parts.push_back({"the watch of " + turn.plural, turn.number, turn.waits});
  }
  const kube::WorkQueueMetrics queue = loop_.queue();
  parts.push_back({"the work queue", queue.taken, queue.depth == 0 || !watches_.HaveSynced()});
  for (const auto& [job, since] : loop_.Running()) {
    parts.push_back(
        {"the reconcile of " + job.ToString(), static_cast<uint64_t>(since.time_since_epoch().count()), false});
  }
  const MutexLock lock(stuck_mutex_);
  return stuck_.Look(parts, now);
}

std::string OperatorImpl::MetricsText() const {
  OperatorMetrics values;
  values.version = kVersion;
  if (!leads_) return MetricsPage(values) + durations_.MetricsText();  // series of jobs are the leader's
  for (const kube::Snapshot& job : watches_.jobs.All()) {
    const std::string name_space(kube::Namespace(*job)), name(kube::Name(*job));
    const telemetry::JobSample sample = store_->Sample({name_space, name, std::string(kube::Uid(*job))}, time_.Now());
    JobMetrics& shown = values.jobs.emplace_back(JobMetrics{
        .name_space = name_space, .name = name, .object = job, .loss = sample.loss, .samples_per_second = sample.rate});
    for (const kube::Snapshot& pod : watches_.pods.ByLabel(name)) {
      const PodResize resize = ObservePod(*pod).resize;
      if (kube::Namespace(*pod) != name_space || !resize.record.any() || resize.record.done) continue;
      ++(resize.state == ResizeState::kDeferred     ? shown.resize_deferred
         : resize.state == ResizeState::kInfeasible ? shown.resize_infeasible
                                                    : shown.resizing);
    }
  }
  values.queue = loop_.queue();
  for (const JobWatches::Restarts& watch : watches_.WatchRestarts()) {
    values.watches.push_back({.resource = watch.plural,
                              .expired = watch.counts.expired,
                              .failed = watch.counts.failures,
                              .silent = watch.counts.silences});
  }
  values.reconcile_errors = loop_.errors();
  values.plans = static_cast<uint64_t>(executor_->plans());
  values.actions = static_cast<uint64_t>(executor_->actions());
  values.failed_actions = static_cast<uint64_t>(executor_->failed_actions());
  values.dropped_reports = store_->dropped_reports();
  values.implausible_reports = service_->implausible_reports();
  return MetricsPage(values) + durations_.MetricsText();
}

}  // namespace

StatusOr<std::unique_ptr<Operator>> Operator::Start(const OperatorOptions& options, kube::Api& api,
                                                    const TimeSource& time) {
  auto started = std::make_unique<OperatorImpl>(options, api, time);
  RETURN_IF_ERROR(started->Begin());
  return started;
}

}  // namespace attune::controller
