// kube::Api over HTTP(S) to a real API server, and where its address and credentials come from.
// cpprestsdk is an implementation detail of this room's .cpp files; nothing of it is thrown out of them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "operator/kube/api.h"

namespace attune::kube {

struct ClientConfig {
  std::string server;  // https://host:port
  std::string ca_pem;  // only this authority is trusted; "" with http:// or the system's store
  std::string client_certificate_pem, client_key_pem;
  std::string token;       // bearer; or
  std::string token_file;  // read again every minute and after a 401
  std::string name_space = "default";
  std::string context;  // of the kubeconfig, for messages
};

// Inside a pod: service-account token, CA and namespace; host kubernetes.default.svc.
StatusOr<ClientConfig> InClusterConfig();
// `path` "": $KUBECONFIG (first file), else ~/.kube/config. `context` "": current-context. Understands embedded and
// file credentials (token, client certificates); exec and auth-provider plugins are refused with a message that says
// so.
StatusOr<ClientConfig> LoadKubeconfig(const std::string& path, const std::string& context);

// Must be called before the first use of RestApi in a process; sets up the shared HTTP threads. Idempotent.
void InitializeHttp();

StatusOr<std::unique_ptr<Api>> MakeRestApi(const ClientConfig& config);

}  // namespace attune::kube
