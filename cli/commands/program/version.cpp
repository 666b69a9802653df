#include <cstdio>

#include "base/version.h"
#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"

namespace attune::cli {
namespace {

const kube::ResourceType kDeployments{"apps", "v1", "deployments", "Deployment"};
constexpr char kOperatorSelector[] = "app.kubernetes.io/name=attune";

// The operator's Deployment carries its version as a label; not everybody may list Deployments.
std::string ClusterVersion(kube::Api& api) {
  const auto list = api.List(kDeployments, {.label_selector = kOperatorSelector}, {std::chrono::seconds(5)});
  if (!list.ok()) return "unknown (" + std::string(Message(list.status())) + ")";
  if (list->items.empty()) return "not installed (no Deployment with label " + std::string(kOperatorSelector) + ")";
  std::string version(kube::Label(list->items.front(), "app.kubernetes.io/version"));
  return version.empty() ? "unknown (its Deployment carries no label app.kubernetes.io/version)" : version;
}

// False when it does not answer.
bool PrintVersionOf(const Connection& connection) {
  const auto jobs =
      connection.api->List(kube::kTrainingJobs, {.name_space = connection.name_space}, {std::chrono::seconds(5)});
  if (!jobs.ok()) {
    std::printf("server  no answer from %s: %s\n", connection.description.c_str(),
                std::string(Message(jobs.status())).c_str());
  } else if (connection.instance) {
    std::printf("server  %s, API %s\n", connection.description.c_str(), kube::kTrainingJobs.api_version().c_str());
  } else {
    std::printf("server  %s, API %s, operator %s\n", connection.description.c_str(),
                kube::kTrainingJobs.api_version().c_str(), ClusterVersion(*connection.api).c_str());
  }
  return jobs.ok();
}

}  // namespace

int Version(const VersionArguments& arguments, const Target& target) {
  std::printf("client  attune %s\n", kVersion);
  if (arguments.client_only) return kExitOk;
  const auto connections = ConnectToAll(target);
  if (!connections.ok()) {
    std::printf("server  none: %s\n", std::string(Message(connections.status())).c_str());
    return connections.status().code() == StatusCode::kNotFound && !WantsCluster(target) ? kExitOk : kExitFailed;
  }
  bool all_answered = true;
  for (const Connection& connection : *connections) all_answered = PrintVersionOf(connection) && all_answered;
  return all_answered ? kExitOk : kExitFailed;
}

}  // namespace attune::cli
