// kubeconfig files (clusters, users, contexts) and the credentials every pod is given. Entry points are in rest_api.h
// (LoadKubeconfig, InClusterConfig); these take the text and the directories, for tests.
#pragma once

#include <filesystem>
#include <string>

#include "base/status.h"
#include "operator/kube/client/rest_api.h"

namespace attune::kube {

// `file` is where `text` came from: relative credential paths start at its directory, and messages name it.
StatusOr<ClientConfig> ParseKubeconfig(const std::string& text, const std::filesystem::path& file,
                                       const std::string& context);

// `directory` holds token, ca.crt and namespace; `port` is the API server's.
StatusOr<ClientConfig> ServiceAccountConfig(const std::filesystem::path& directory, const std::string& port);

// Standard alphabet, padding required, white space ignored. InvalidArgument otherwise.
StatusOr<std::string> Base64Decode(std::string_view text);

}  // namespace attune::kube
