// attune-operator: all controllers against one API server, until SIGTERM.
#include <CLI/CLI.hpp>
#include <csignal>

#include "base/log.h"
#include "base/mutex.h"
#include "base/net/http_endpoint.h"
#include "base/os/signal_watcher.h"
#include "base/version.h"
#include "operator/controller/execute/operator.h"
#include "operator/controller/execute/release.h"
#include "operator/kube/client/rest_api.h"
#include "proto/contract.h"

namespace attune {
namespace {

struct Flags {
  std::string kubeconfig, context;
  std::string metrics_host = "0.0.0.0";
  uint16_t metrics_port = contract::kOperatorMetricsPort;
  uint16_t health_port = contract::kOperatorHealthPort;
  bool release_pods = false;
  controller::OperatorOptions options;
};

int ParseFlags(int argc, char** argv, Flags& flags) {
  CLI::App app{"Attune's operator: makes TrainingJobs run and keeps them running."};
  app.set_version_flag("--version", std::string("attune-operator ") + kVersion);
  app.add_option("--kubeconfig", flags.kubeconfig, "Kubeconfig file; without it, the pod's service account is used");
  app.add_option("--context", flags.context, "Context of the kubeconfig")->needs("--kubeconfig");
  app.add_option("--namespace", flags.options.name_space, "Watch this namespace only (default: all)");
  app.add_flag("--release-pods", flags.release_pods,
               "Remove the finalizer from all pods of jobs, so that they can be deleted without an operator, and end");
  app.add_option("--server-image", flags.options.server_image, "Image of parameter servers")->capture_default_str();
  app.add_option("--sidecar-image", flags.options.sidecar_image, "Image of sidecars")->capture_default_str();
  app.add_option("--image-pull-policy", flags.options.image_pull_policy, "Pull policy of both")
      ->check(CLI::IsMember({"Always", "IfNotPresent", "Never"}))
      ->capture_default_str();
  app.add_option("--default-model-claim", flags.options.default_model_claim,
                 "PersistentVolumeClaim for models of jobs that name none (default: a directory per pod)");
  app.add_option("--telemetry-listen", flags.options.telemetry_listen, "Where sidecars connect to")
      ->capture_default_str();
  app.add_option("--telemetry-address", flags.options.telemetry_address,
                 "host:port that sidecars are given (default: where it listens)");
  app.add_option("--telemetry-certificates", flags.options.telemetry_certificates,
                 "Directory with tls.crt, tls.key and ca.crt: sidecars connect with TLS and check the certificate");
  app.add_flag("--job-network-policies", flags.options.job_policies,
               "Make a NetworkPolicy for each job: its pods reach each other, metrics can be read, all else is shut");
  app.add_option("--job-metrics-from", flags.options.policy_metrics_from,
                 "Who may read the metrics of jobs under those policies: a JSON list of NetworkPolicyPeer; []: all")
      ->capture_default_str();
  app.add_option("--report-seconds", flags.options.report_seconds, "How often sidecars report")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  app.add_option("--tuner-history", flags.options.tuner_history,
                 "File that keeps what the tuner learned of finished jobs; similar jobs start from it (default: in the "
                 "ConfigMap attune-tuner-history of each namespace)");
  app.add_option("--reconcile-threads", flags.options.reconcile_threads, "Jobs reconciled at the same time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--metrics-host", flags.metrics_host, "Address of the metrics and health ports")
      ->capture_default_str();
  app.add_option("--metrics-port", flags.metrics_port, "Port of /metrics (0: any)")->capture_default_str();
  app.add_option("--health-port", flags.health_port, "Port of /healthz and /readyz (0: any)")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? -1 : 2;
  }
  return 0;
}

// The operator comes into being after the health port answers: what pages show until then is "starting".
class Running {
 public:
  void Set(std::unique_ptr<controller::Operator> value) {
    const MutexLock lock(mutex_);
    value_ = std::move(value);
  }
  std::unique_ptr<controller::Operator> Take() {
    const MutexLock lock(mutex_);
    return std::move(value_);
  }
  // Whether a restart would help. It would not while the API server is away: then the operator is not ready, but
  // healthy.
  HttpPage Healthy() const {
    const MutexLock lock(mutex_);
    return Page(value_ == nullptr ? "" : value_->Stuck());
  }
  HttpPage Ready() const {
    const MutexLock lock(mutex_);
    return Page(value_ == nullptr ? "starting: the API server has not answered yet" : value_->NotReady());
  }
  HttpPage Metrics() const {
    const MutexLock lock(mutex_);
    return {.code = 200,
            .content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = value_ ? value_->MetricsText() : ""};
  }

 private:
  static HttpPage Page(const std::string& problem) {
    return {.code = problem.empty() ? 200 : 503, .body = problem.empty() ? "ok\n" : problem + "\n"};
  }

  mutable Mutex mutex_;
  std::unique_ptr<controller::Operator> value_ ABSL_GUARDED_BY(mutex_);
};

// SIGTERM or SIGINT. Thread-safe.
class StopRequest {
 public:
  bool Watch() {
    watcher_ = SignalWatcher::Install({SIGTERM, SIGINT}, [this](int) {
      const MutexLock lock(mutex_);
      requested_ = true;
      changed_.NotifyAll();
    });
    return watcher_ != nullptr;
  }
  // Whether it came, by the end of `timeout`.
  bool Wait(Duration timeout) {
    const MutexLock lock(mutex_);
    return changed_.WaitFor(mutex_, timeout, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return requested_; });
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool requested_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<SignalWatcher> watcher_;
};

StatusOr<std::unique_ptr<kube::Api>> Connect(const Flags& flags) {
  ASSIGN_OR_RETURN(const kube::ClientConfig config, flags.kubeconfig.empty()
                                                        ? kube::InClusterConfig()
                                                        : kube::LoadKubeconfig(flags.kubeconfig, flags.context));
  kube::InitializeHttp();
  log::Info("talking to the API server", {{"server", config.server}});
  return kube::MakeRestApi(config);
}

// What a wait may cure: the API server is away, the kind is not installed yet, rights are granted a moment later.
bool IsWorthWaiting(const Status& status) {
  switch (status.code()) {
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kPermissionDenied:
    case StatusCode::kUnauthenticated:
      return true;
    default:
      return false;
  }
}

// The last operator may still be ending: it is over when nothing was held for longer than that takes.
int Release(const Flags& flags, StopRequest& stop) {
  constexpr Duration kQuiet = std::chrono::seconds(25), kAtMost = std::chrono::minutes(5);
  constexpr Duration kTryAgain = std::chrono::seconds(2);
  const SystemTime time;
  const MonotonicTime begin = time.Now();
  auto api = Connect(flags);
  if (!api.ok()) {
    log::Error("finalizers of pods are not removed", {{"reason", api.status()}});
    return 1;
  }
  MonotonicTime quiet_since = begin;
  Status last;
  while (time.Now() - begin < kAtMost && time.Now() - quiet_since < kQuiet) {
    const StatusOr<int> released = controller::ReleasePods(**api, flags.options.name_space);
    last = released.status();
    if (!released.ok()) log::Warn("finalizers of pods are not removed yet", {{"reason", last}});
    if (released.ok() && *released > 0) log::Info("removed the finalizer from pods", {{"pods", *released}});
    if (!released.ok() || *released > 0) quiet_since = time.Now();
    if (stop.Wait(kTryAgain)) break;
  }
  return last.ok() ? 0 : 1;
}

int Run(const Flags& flags, StopRequest& stop) {
  constexpr Duration kTryAgain = std::chrono::seconds(3);
  constexpr Duration kLook = std::chrono::hours(1);
  const SystemTime time;
  Running running;
  auto health = HttpEndpoint::Start(
      {.host = flags.metrics_host, .port = flags.health_port},
      {{"/healthz", [&] { return running.Healthy(); }}, {"/readyz", [&] { return running.Ready(); }}});
  auto metrics = HttpEndpoint::Start({.host = flags.metrics_host, .port = flags.metrics_port},
                                     {{"/metrics", [&] { return running.Metrics(); }}});
  for (const Status& status : {health.status(), metrics.status()}) {
    if (status.ok()) continue;
    log::Error("cannot start", {{"reason", status}});
    return 1;
  }
  auto api = Connect(flags);
  if (!api.ok()) {
    log::Error("cannot start", {{"reason", api.status()}});
    return 1;
  }
  while (true) {
    auto started = controller::Operator::Start(flags.options, **api, time);
    if (started.ok()) {
      log::Info("operator runs", {{"telemetry", (*started)->telemetry_address()},
                                  {"metrics_port", (*metrics)->port()},
                                  {"health_port", (*health)->port()},
                                  {"version", kVersion}});
      running.Set(*std::move(started));
      break;
    }
    if (!IsWorthWaiting(started.status())) {
      log::Error("cannot start", {{"reason", started.status()}});
      return 1;
    }
    log::Warn("waiting to start", {{"reason", started.status()}, {"retry_seconds", Seconds(kTryAgain)}});
    if (stop.Wait(kTryAgain)) return 0;
  }
  while (!stop.Wait(kLook)) {
  }
  log::Info("stopping");
  running.Take().reset();
  return 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Flags flags;
  if (const int code = attune::ParseFlags(argc, argv, flags); code != 0) return code < 0 ? 0 : code;
  attune::log::SetProcessName("operator");
  std::signal(SIGPIPE, SIG_IGN);
  attune::StopRequest stop;
  if (!stop.Watch()) {
    attune::log::Error("cannot start", {{"reason", "no file descriptors left to watch for signals"}});
    return 1;
  }
  return flags.release_pods ? attune::Release(flags, stop) : attune::Run(flags, stop);
}
