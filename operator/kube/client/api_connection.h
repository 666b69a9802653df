// HTTP to an API server in the name of a client: every request carries its credentials, waits for its turn, and is
// repeated once when the credentials were refused (401), and after the time that the server asks for when it is busy
// (429). Thread-safe.
#pragma once

#include <memory>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/client/call_pacer.h"
#include "operator/kube/client/http_transport.h"
#include "operator/kube/credentials/credential_source.h"

namespace attune::kube {

class ApiConnection {
 public:
  // InvalidArgument when the configuration cannot be used. `time` must outlive it.
  static StatusOr<std::unique_ptr<ApiConnection>> Make(const ClientConfig& config, const TimeSource& time);

  // One call. `timeout` covers everything: its turn, credentials that have to be obtained, pauses and repetitions. An
  // answer of 429 comes back when what the server asks for would take longer than that.
  StatusOr<HttpResponse> Send(HttpRequest request, Duration timeout, uint64_t body_bytes_max);

  // An answer without end; it takes no turn. `timeout` is for credentials alone. The connection must outlive the
  // stream.
  StatusOr<std::unique_ptr<HttpStream>> Stream(HttpRequest request, Duration timeout, Duration idle_timeout,
                                               HttpStreamHandlers handlers);

 private:
  ApiConnection(HttpTarget target, CallLimit limit, std::unique_ptr<CredentialSource> credentials,
                const TimeSource& time);
  // The transport for these credentials: connections that were made with another client certificate are of no use.
  StatusOr<std::shared_ptr<HttpTransport>> TransportFor(const Credentials& credentials);
  void OnHead(const HttpHead& head, uint64_t credentials);

  const TimeSource& time_;
  const std::unique_ptr<CredentialSource> credentials_;
  CallPacer pacer_;
  Mutex mutex_;
  HttpTarget target_ ABSL_GUARDED_BY(mutex_);  // with the certificate of transport_
  std::shared_ptr<HttpTransport> transport_ ABSL_GUARDED_BY(mutex_);
};

// How long a client stays away after this answer; nothing unless it is a 429.
std::optional<Duration> BusyFor(const HttpHead& head);

// "attune-operator/0.9.0 (linux/amd64)", as Kubernetes' own clients call themselves.
std::string UserAgent(const std::string& program);

}  // namespace attune::kube
