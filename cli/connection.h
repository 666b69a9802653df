// Finds the API a command talks to: a local instance or a cluster.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "cli/arguments.h"
#include "operator/kube/api.h"

namespace attune::cli {

struct Connection {
  std::unique_ptr<kube::Api> api;
  std::string name_space;       // for objects that do not say theirs
  std::string description;      // "the instance of process 4711", "context kind"
  std::optional<int> instance;  // process id when local
};

// --kubeconfig or --context: that cluster. Else the local instance (--instance, else the newest). Else the default
// kubeconfig, if there is one. Else NotFound, with words on how to start something.
StatusOr<Connection> Connect(const Target& target);
// Only the cluster.
StatusOr<Connection> ConnectToCluster(const Target& target);
bool WantsCluster(const Target& target);

}  // namespace attune::cli
