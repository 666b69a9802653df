// The gRPC service sidecars connect to: authenticates, fills the JobStore, sends directives.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "attune/v1/telemetry.pb.h"
#include "base/status.h"
#include "operator/kube/api.h"
#include "operator/telemetry/job_store.h"
#include "operator/telemetry/token_proof.h"

namespace attune::telemetry {

// PEM. With them, sidecars must speak TLS.
struct ServerCertificate {
  std::string chain, private_key;
};

struct ServiceOptions {
  std::string listen = "0.0.0.0:7410";  // port 0: any, see Service::address
  double report_seconds = 1;
  // The sidecar's token is proved, and the pod must belong to the job it names. Without it, loopback only.
  bool authenticate = true;
  TokenProof proof = TokenProof::kReview;
  std::optional<ServerCertificate> certificate;
  Duration hello_timeout = std::chrono::seconds(10);  // from the begin of a stream
  // Asked before each directive, in the threads of Send. Empty: always. A process that was stopped while it led still
  // has its streams when it continues.
  std::function<bool()> may_direct = {};
};

class Service {
 public:
  // `api` reviews tokens; both must outlive the service. An occupied port is an error that names it.
  static StatusOr<std::unique_ptr<Service>> Start(const ServiceOptions& options, kube::Api& api, JobStore& store);
  virtual ~Service() = default;  // ends all streams, then returns

  virtual std::string address() const = 0;  // host:port really bound
  // False when the pod's sidecar is not connected, or this process may not direct it; the controller tries again at its
  // next reconcile. What becomes of a directive with a key is reported to the store under it (JobStore::Answered).
  virtual bool Send(const std::string& pod_uid, const v1::Directive& directive, const std::string& key = "") = 0;
  // Reports of which parts were left out because they cannot be true (plausible.h).
  virtual uint64_t implausible_reports() const = 0;
};

}  // namespace attune::telemetry
