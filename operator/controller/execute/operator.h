// All controllers of one process: watches, work queue, reconcilers, telemetry. The operator program runs it against a
// cluster, the local platform inside `attune run`. Stateless: a new instance continues from what the API holds.
//
// Started, it only watches: its caches are filled, it writes nothing and listens for no sidecar. That is a standby.
// Lead() makes it act; the operator program calls it when it holds the Lease (operator/leadership), the local platform
// at once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/api.h"
#include "operator/telemetry/job_store.h"
#include "operator/telemetry/token_proof.h"

namespace attune::controller {

struct OperatorOptions {
  std::string name_space;  // watch only this one; "" = all
  std::string server_image = "attune/server:dev";
  std::string sidecar_image = "attune/sidecar:dev";
  std::string image_pull_policy = "IfNotPresent";
  std::vector<std::string> image_pull_secrets;  // names of Secrets in the namespaces of jobs
  std::string default_model_claim;              // for jobs without model.claim; "": an emptyDir per pod
  std::string telemetry_listen = "0.0.0.0:7410";
  std::string telemetry_address;  // what pods are given; "": the address really bound
  // With tls.crt, tls.key and ca.crt: telemetry speaks TLS, and pods are given ca.crt to check it. "": plain.
  std::string telemetry_certificates;
  bool job_policies = false;               // a NetworkPolicy per job (job_policy.h)
  std::string policy_metrics_from = "[]";  // who may read the metrics of jobs: JSON, a list of NetworkPolicyPeer
  bool queues = true;  // jobs that name a queue of Kueue wait for their place there (docs/queues.md)
  double report_seconds = 1;
  telemetry::TokenProof token_proof = telemetry::TokenProof::kReview;
  bool authenticate = true;                             // sidecars' tokens are reviewed, see telemetry::ServiceOptions
  Duration status_interval = std::chrono::seconds(20);  // least time between progress updates of a job's status
  // Workers are made without the coordinator's word that all servers have joined when it was not heard for so long.
  Duration begin_unheard_after = std::chrono::seconds(10);
  int reconcile_threads = 2;
  std::string tuner_history;  // file of what the tuner learned of finished jobs; "": a ConfigMap of each namespace
  // Asked before each directive to a process, as the API is before each write (leadership::FencedApi). Empty: always.
  std::function<bool()> may_direct;
};

class Operator {
 public:
  // `api` and `time` must outlive the operator. Fails when the TrainingJob kind is not installed.
  static StatusOr<std::unique_ptr<Operator>> Start(const OperatorOptions& options, kube::Api& api,
                                                   const TimeSource& time);
  virtual ~Operator() = default;  // stops intake, finishes reconciles in progress, closes streams

  // From here on it acts, as soon as the first lists are in, and its deadlines count from here. Once. Fails when the
  // port for telemetry is taken.
  virtual Status Lead() = 0;

  virtual telemetry::JobStore& telemetry() = 0;
  virtual std::string telemetry_address() const = 0;  // "" while it stands by and was given none
  virtual std::string NotReady() const = 0;     // why it cannot act yet: which first list is not in; "" when all are
  virtual std::string Stuck() = 0;              // which part has stopped working (stuck_watch.h); "" when none
  virtual std::string MetricsText() const = 0;  // Prometheus exposition
};

}  // namespace attune::controller
