// One replica of the operator program: it fills its caches, stands by until it holds the Lease, leads, and ends in
// order. Without leader election it leads as soon as it has started.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/net/http_endpoint.h"
#include "base/os/boot_time.h"
#include "base/status.h"
#include "base/time_source.h"
#include "operator/controller/execute/operator.h"
#include "operator/kube/api.h"
#include "operator/leadership/elector.h"
#include "operator/leadership/fence.h"
#include "operator/leadership/fenced_api.h"
#include "operator/stop_request.h"

namespace attune {

struct LeaderElection {
  bool enabled = false;
  kube::ObjectKey lease{"", "attune-operator"};
  int lease_seconds = 15;
  std::string pod;  // of this process; "": none to label
};

class Replica {
 public:
  // `stop` must outlive it.
  Replica(const controller::OperatorOptions& options, const LeaderElection& election, StopRequest& stop);

  // Until it is asked to stop: OK then. `api_of_lease`: another client for the Lease alone. When the Lease is lost this
  // does not return: the process ends with exit code 1, because nothing that it still does is of use.
  Status Run(kube::Api& api, kube::Api& api_of_lease);

  // Any thread, also before Run().
  // Whether a restart would help. It would not while the API server is away: then the operator is not ready, but
  // healthy.
  HttpPage Healthy() const;
  // Whether the caches are filled, of the leader as of a standby.
  HttpPage Ready() const;
  HttpPage Metrics() const;

 private:
  StatusOr<std::unique_ptr<controller::Operator>> Start(kube::Api& api);
  Status RunAlone(kube::Api& api);
  Status RunElected(kube::Api& api, kube::Api& api_of_lease);
  Status Lead();
  void OnElection(leadership::Election::State state);
  std::string NotReady() const;
  void Set(std::unique_ptr<controller::Operator> started);
  // The operator finishes what is in progress and is gone, if there is one.
  void End();

  controller::OperatorOptions options_;
  const LeaderElection election_;
  StopRequest& stop_;
  const SystemTime time_;
  const BootTime lease_time_;  // a machine that slept has slept for others, too
  leadership::Fence fence_{lease_time_};
  std::optional<leadership::FencedApi> fenced_;  // outlives the operator
  std::atomic<bool> leads_ = false;

  mutable Mutex mutex_;
  // Comes into being after the health port answers: what pages show until then is "starting".
  std::unique_ptr<controller::Operator> operator_ ABSL_GUARDED_BY(mutex_);
  std::optional<leadership::Elector> elector_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attune
