// Serves a kube::Api over HTTP in the Kubernetes REST dialect, so that kube::RestApi, other terminals and kubectl reach
// the embedded platform. A token is required; meant for loopback. Why Boost.Beast:
// docs/decisions/0006-local-api-over-beast.md.
//
//   Authorization: Bearer <token>                      for programs
//   kubectl --server=http://127.0.0.1:<port>/token/<token>   kubectl keeps bearer tokens to itself without TLS
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "operator/kube/api.h"
#include "operator/local/api/rules/kinds.h"

namespace attune::local {

struct ApiServerOptions {
  std::string listen = "127.0.0.1:0";  // address:port; port 0: chosen
  std::string token;                   // every request carries it, else 401; not empty
  std::vector<KindInfo> kinds;         // what discovery lists and paths may name
  size_t connections_max = 256;        // that have shown the token; of those that have not, the oldest give way
  std::chrono::milliseconds proof_timeout{10'000};  // for the head of a first request, which carries the token
  size_t body_bytes_max = 3 << 20;                  // of a request
  size_t backlog_bytes_max = 16 << 20;  // of a watch or log whose reader is slow; then the connection is closed
  int log_followers_max = 64;           // each holds a thread
};

class ApiServer {
 public:
  // `api` must outlive the server. Fails when the address is taken or is no address.
  static StatusOr<std::unique_ptr<ApiServer>> Start(const ApiServerOptions& options, kube::Api& api);
  virtual ~ApiServer() = default;  // closes all connections and returns when no thread is left

  virtual std::string url() const = 0;  // http://127.0.0.1:port
};

}  // namespace attune::local
