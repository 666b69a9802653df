// kubeconfig files: clusters, users and contexts, in one file or merged from several.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "operator/kube/credentials/client_config.h"

namespace attune::kube {

// What --kubeconfig names, one file; without it, the files of $KUBECONFIG, else ~/.kube/config. `context` "":
// current-context. Understands embedded and file credentials, programs that give them (exec), impersonation, proxies
// and server names; what it does not understand is refused with a message that says so, never ignored.
StatusOr<ClientConfig> LoadKubeconfig(const std::string& path, const std::string& context);

// --- Its parts, for tests.

struct KubeconfigFile {
  std::filesystem::path path;  // where relative paths in it start, and for messages
  std::string text;
};

// As kubectl merges: the first file that has a cluster, user or context of a name gives all of it, and the first one
// with a current-context gives that.
StatusOr<ClientConfig> ParseKubeconfigs(const std::vector<KubeconfigFile>& files, const std::string& context);

// The files of $KUBECONFIG, separated by ':'.
std::vector<std::filesystem::path> ListedKubeconfigs(std::string_view listed);

}  // namespace attune::kube
