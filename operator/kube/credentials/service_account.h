// The credentials that every pod is given.
#pragma once

#include <filesystem>
#include <string>

#include "base/status.h"
#include "operator/kube/credentials/client_config.h"

namespace attune::kube {

// Inside a pod: service-account token, CA and namespace; host kubernetes.default.svc.
StatusOr<ClientConfig> InClusterConfig();

// `directory` holds token, ca.crt and namespace; `port` is the API server's.
StatusOr<ClientConfig> ServiceAccountConfig(const std::filesystem::path& directory, const std::string& port);

}  // namespace attune::kube
