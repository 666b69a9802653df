#include "operator/kube/credentials/service_account.h"

#include <cstdlib>

#include "base/os/file.h"

namespace attune::kube {
namespace {

constexpr char kServiceAccountDirectory[] = "/var/run/secrets/kubernetes.io/serviceaccount";
// A name in every API server's certificate; the injected IP address is not always one.
constexpr char kInClusterHost[] = "kubernetes.default.svc";

}  // namespace

StatusOr<ClientConfig> ServiceAccountConfig(const std::filesystem::path& directory, const std::string& port) {
  ClientConfig config;
  config.limit = kClusterCallLimit;
  config.server = std::string("https://") + kInClusterHost + (port.empty() ? "" : ":" + port);
  config.token_file = directory / "token";
  config.context = "in-cluster";
  ASSIGN_OR_RETURN(config.ca_pem, ReadFile(directory / "ca.crt", kCredentialBytesMax));
  ASSIGN_OR_RETURN(config.name_space, ReadFile(directory / "namespace", 1024));
  while (!config.name_space.empty() && config.name_space.back() <= ' ') config.name_space.pop_back();
  if (config.name_space.empty() || config.ca_pem.empty()) {
    return Error(StatusCode::kInvalidArgument,
                 "service account in " + directory.string() + ": namespace or ca.crt is empty");
  }
  return config;
}

StatusOr<ClientConfig> InClusterConfig() {
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT_HTTPS");
  if (port == nullptr) port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (port == nullptr) {
    return Error(StatusCode::kFailedPrecondition,
                 "this process does not run in a pod (KUBERNETES_SERVICE_PORT is not set); use a kubeconfig");
  }
  StatusOr<ClientConfig> config = ServiceAccountConfig(kServiceAccountDirectory, port);
  if (!config.ok()) return Annotate(config.status(), "reading the pod's service account");
  return config;
}

}  // namespace attune::kube
