// attune-operator: all controllers against one API server, until SIGTERM.
#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>

#include "base/log.h"
#include "base/net/http_endpoint.h"
#include "base/version.h"
#include "operator/controller/execute/operator.h"
#include "operator/controller/execute/release.h"
#include "operator/install_check.h"
#include "operator/kube/client/rest_api.h"
#include "operator/replica.h"
#include "operator/stop_request.h"
#include "proto/contract.h"

namespace attune {
namespace {

struct Flags {
  std::string kubeconfig, context;
  std::string metrics_host = "0.0.0.0";
  uint16_t metrics_port = contract::kOperatorMetricsPort;
  uint16_t health_port = contract::kOperatorHealthPort;
  bool release_pods = false;
  kube::CallLimit calls = kube::kClusterCallLimit;
  controller::OperatorOptions options;
  LeaderElection election;
  InstallCheck check;
};

// What pods of jobs are made with.
void AddPodFlags(CLI::App& app, controller::OperatorOptions& options) {
  app.add_option("--server-image", options.server_image, "Image of parameter servers")->capture_default_str();
  app.add_option("--sidecar-image", options.sidecar_image, "Image of sidecars")->capture_default_str();
  app.add_option("--image-pull-policy", options.image_pull_policy, "Pull policy of both")
      ->check(CLI::IsMember({"Always", "IfNotPresent", "Never"}))
      ->capture_default_str();
  app.add_option("--image-pull-secret", options.image_pull_secrets,
                 "Secret that pods of jobs pull images with, in their namespace. May be given several times");
  app.add_option("--default-model-claim", options.default_model_claim,
                 "PersistentVolumeClaim for models of jobs that name none (default: a directory per pod)");
}

void AddTelemetryFlags(CLI::App& app, controller::OperatorOptions& options) {
  app.add_option("--telemetry-listen", options.telemetry_listen, "Where sidecars connect to")->capture_default_str();
  app.add_option("--telemetry-address", options.telemetry_address,
                 "host:port that sidecars are given (default: where it listens)");
  app.add_option("--telemetry-certificates", options.telemetry_certificates,
                 "Directory with tls.crt, tls.key and ca.crt: sidecars connect with TLS and check the certificate");
  app.add_option_function<std::string>(
         "--sidecar-tokens",
         [&options](const std::string& proof) {
           options.token_proof = proof == "keys" ? telemetry::TokenProof::kKeys : telemetry::TokenProof::kReview;
         },
         "How sidecars' tokens are proved. review: by TokenReviews, a right for the whole cluster. keys: by the keys "
         "that the API server publishes to all service accounts")
      ->check(CLI::IsMember({"review", "keys"}))
      ->default_str("review");
}

void AddElectionFlags(CLI::App& app, LeaderElection& election) {
  app.add_flag(
      "--leader-elect", election.enabled,
      "Several replicas run, and the one that holds a Lease acts; the others stand by with their caches filled");
  app.add_option("--leader-elect-namespace", election.lease.name_space, "Namespace of the Lease, and of this pod")
      ->envname("POD_NAMESPACE");
  app.add_option("--leader-elect-name", election.lease.name,
                 "Name of the Lease. Replicas that watch the same jobs share one; it is the value of the label "
                 "attune.dev/leader of the leader's pod")
      ->capture_default_str();
  app.add_option("--leader-elect-lease-seconds", election.lease_seconds,
                 "How long others wait after the last renewal that they saw; the holder stops acting after two thirds")
      ->check(CLI::Range(5, 300))
      ->capture_default_str();
  app.add_option("--leader-elect-pod", election.pod, "Name of this pod, which is labelled while it leads")
      ->envname("POD_NAME");
}

void AddCheckFlags(CLI::App& app, InstallCheck& check) {
  app.add_option("--check-port", check.ports,
                 "Wait until this host:port answers, and end; what `helm test` runs. May be given several times");
  app.add_option("--check-job", check.job.name,
                 "Wait until this TrainingJob of --namespace has ended; the exit code says whether it ended well");
  app.add_option("--check-seconds", check.seconds, "How long --check-port and --check-job wait")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
}

// What the parsing library does not check.
std::string ElectionProblem(const LeaderElection& election) {
  constexpr size_t kLabelBytesMax = 63;
  if (!election.enabled) return "";
  if (election.lease.name_space.empty()) {
    return "--leader-elect needs --leader-elect-namespace, or POD_NAMESPACE in the environment";
  }
  if (election.lease.name.empty() || election.lease.name.size() > kLabelBytesMax) {
    return "--leader-elect-name has to be a name of at most 63 characters";
  }
  return "";
}

int ParseFlags(int argc, char** argv, Flags& flags) {
  CLI::App app{"Attune's operator: makes TrainingJobs run and keeps them running."};
  app.set_version_flag("--version", std::string("attune-operator ") + kVersion);
  app.add_option("--kubeconfig", flags.kubeconfig, "Kubeconfig file; without it, the pod's service account is used");
  app.add_option("--context", flags.context, "Context of the kubeconfig")->needs("--kubeconfig");
  app.add_option("--kube-qps", flags.calls.per_second, "Calls to the API server per second, on average (0: no limit)")
      ->check(CLI::Range(0.0, 10'000.0))
      ->capture_default_str();
  app.add_option("--kube-burst", flags.calls.burst, "Calls to the API server at once after a pause")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--namespace", flags.options.name_space, "Watch this namespace only (default: all)");
  app.add_flag("--release-pods", flags.release_pods,
               "Remove the finalizer from all pods of jobs, so that they can be deleted without an operator, and end");
  AddPodFlags(app, flags.options);
  AddTelemetryFlags(app, flags.options);
  app.add_flag("--job-network-policies", flags.options.job_policies,
               "Make a NetworkPolicy for each job: its pods reach each other, metrics can be read, all else is shut");
  app.add_option("--job-metrics-from", flags.options.policy_metrics_from,
                 "Who may read the metrics of jobs under those policies: a JSON list of NetworkPolicyPeer; []: all")
      ->capture_default_str();
  app.add_option("--report-seconds", flags.options.report_seconds, "How often sidecars report")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  app.add_option_function<double>(
         "--status-seconds",
         [&flags](double seconds) {
           flags.options.status_interval = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
         },
         "Least time between two writes of a job's status that only move figures; what people or controllers wait for "
         "is written at once")
      ->check(CLI::Range(1.0, 3600.0))
      ->default_str("20");
  app.add_option("--tuner-history", flags.options.tuner_history,
                 "File that keeps what the tuner learned of finished jobs; similar jobs start from it (default: in the "
                 "ConfigMap attune-tuner-history of each namespace)");
  app.add_option("--reconcile-threads", flags.options.reconcile_threads, "Jobs reconciled at the same time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  AddElectionFlags(app, flags.election);
  AddCheckFlags(app, flags.check);
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
  flags.check.job.name_space = flags.options.name_space;
  std::string problem = ElectionProblem(flags.election);
  if (problem.empty()) problem = CheckProblem(flags.check);
  if (!problem.empty()) std::cerr << problem << "\n";
  return problem.empty() ? 0 : 2;
}

StatusOr<kube::ClientConfig> FindServer(const Flags& flags) {
  ASSIGN_OR_RETURN(kube::ClientConfig config, flags.kubeconfig.empty()
                                                  ? kube::InClusterConfig()
                                                  : kube::LoadKubeconfig(flags.kubeconfig, flags.context));
  config.limit = flags.calls;
  config.program = "attune-operator";
  kube::InitializeHttp();
  log::Info("talking to the API server", {{"server", config.server}});
  return config;
}

StatusOr<std::unique_ptr<kube::Api>> Connect(const Flags& flags) {
  ASSIGN_OR_RETURN(const kube::ClientConfig config, FindServer(flags));
  return kube::MakeRestApi(config);
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

int Check(const Flags& flags, StopRequest& stop) {
  const SystemTime time;
  const MonotonicTime end = time.Now() + std::chrono::seconds(flags.check.seconds);
  const auto wait = [&] { return !stop.Wait(std::chrono::seconds(1)) && time.Now() < end; };
  Status result = AwaitPorts(flags.check.ports, wait);
  if (result.ok() && !flags.check.job.name.empty()) {
    auto api = Connect(flags);
    result = api.ok() ? AwaitJob(**api, flags.check.job, wait) : api.status();
  }
  if (!result.ok()) log::Error("the installation does not work as it should", {{"reason", result}});
  return result.ok() ? 0 : 1;
}

// Renewals of the Lease have connections of their own: calls that hang do not hold them up.
Status RunReplica(const Flags& flags, Replica& replica) {
  ASSIGN_OR_RETURN(const kube::ClientConfig server, FindServer(flags));
  ASSIGN_OR_RETURN(const std::unique_ptr<kube::Api> api, kube::MakeRestApi(server));
  ASSIGN_OR_RETURN(const std::unique_ptr<kube::Api> api_of_lease, kube::MakeRestApi(server));
  return replica.Run(*api, *api_of_lease);
}

int Run(const Flags& flags, StopRequest& stop) {
  Replica replica(flags.options, flags.election, stop);
  auto health = HttpEndpoint::Start(
      {.host = flags.metrics_host, .port = flags.health_port},
      {{"/healthz", [&] { return replica.Healthy(); }}, {"/readyz", [&] { return replica.Ready(); }}});
  auto metrics = HttpEndpoint::Start({.host = flags.metrics_host, .port = flags.metrics_port},
                                     {{"/metrics", [&] { return replica.Metrics(); }}});
  for (const Status& status : {health.status(), metrics.status()}) {
    if (status.ok()) continue;
    log::Error("cannot start", {{"reason", status}});
    return 1;
  }
  log::Info("starting",
            {{"metrics_port", (*metrics)->port()}, {"health_port", (*health)->port()}, {"version", kVersion}});
  const Status ended = RunReplica(flags, replica);
  if (!ended.ok()) log::Error("cannot run", {{"reason", ended}});
  return ended.ok() ? 0 : 1;
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
  if (attune::IsWanted(flags.check)) return attune::Check(flags, stop);
  return flags.release_pods ? attune::Release(flags, stop) : attune::Run(flags, stop);
}
