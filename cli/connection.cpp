#include "cli/connection.h"

#include <cstdlib>
#include <filesystem>

#include "operator/kube/rest_api.h"
#include "operator/local/instance.h"

namespace attune::cli {
namespace {

bool DefaultKubeconfigExists() {
  std::error_code ignored;
  if (const char* path = std::getenv("KUBECONFIG"); path != nullptr && *path != '\0') return true;
  const char* home = std::getenv("HOME");
  return home != nullptr && std::filesystem::exists(std::filesystem::path(home) / ".kube" / "config", ignored);
}

StatusOr<std::optional<local::Instance>> ChooseInstance(const Target& target) {
  ASSIGN_OR_RETURN(const std::vector<local::Instance> instances, local::FindInstances());
  if (!target.instance) return instances.empty() ? std::optional<local::Instance>() : instances.front();
  std::string running;
  for (const local::Instance& instance : instances) {
    if (instance.process_id == *target.instance) return instance;
    running += (running.empty() ? "" : ", ") + std::to_string(instance.process_id) + " (" + instance.job + ")";
  }
  return Error(StatusCode::kNotFound, "no local instance has process id " + std::to_string(*target.instance) +
                                          (running.empty() ? "; none is running" : "; running: " + running));
}

StatusOr<Connection> ConnectToInstance(const local::Instance& instance, const Target& target) {
  kube::InitializeHttp();
  kube::ClientConfig config;
  config.server = instance.url;
  config.token = instance.token;
  Connection connection;
  ASSIGN_OR_RETURN(connection.api, kube::MakeRestApi(config));
  connection.name_space = target.name_space.empty() ? "default" : target.name_space;
  connection.description = "the local instance with process id " + std::to_string(instance.process_id);
  connection.instance = instance.process_id;
  return connection;
}

}  // namespace

bool WantsCluster(const Target& target) {
  return !target.kubeconfig.empty() || !target.context.empty() || target.as_kubectl_plugin;
}

StatusOr<Connection> ConnectToCluster(const Target& target) {
  kube::InitializeHttp();
  ASSIGN_OR_RETURN(const kube::ClientConfig config, kube::LoadKubeconfig(target.kubeconfig, target.context));
  Connection connection;
  ASSIGN_OR_RETURN(connection.api, kube::MakeRestApi(config));
  connection.name_space = !target.name_space.empty()  ? target.name_space
                          : config.name_space.empty() ? "default"
                                                      : config.name_space;
  connection.description = "the cluster of context " + config.context + " (" + config.server + ")";
  return connection;
}

StatusOr<Connection> Connect(const Target& target) {
  if (WantsCluster(target) && !target.instance) return ConnectToCluster(target);
  ASSIGN_OR_RETURN(const std::optional<local::Instance> instance, ChooseInstance(target));
  if (instance) return ConnectToInstance(*instance, target);
  if (DefaultKubeconfigExists()) return ConnectToCluster(target);
  return Error(StatusCode::kNotFound,
               "nothing to talk to: no local instance runs and there is no kubeconfig; start one with `attune run "
               "FILE`, or name a "
               "cluster with --kubeconfig FILE or --context NAME");
}

}  // namespace attune::cli
