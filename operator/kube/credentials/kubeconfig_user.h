// What an entry of a kubeconfig's `users` says of programs that give credentials and of impersonation. Pure.
#pragma once

#include <filesystem>

#include "base/status.h"
#include "operator/kube/credentials/client_config.h"

namespace attune::kube {

// `user.exec`, checked; no command when there is none. `cluster` is the cluster of the context, for its extension
// "exec". A relative command with a '/' starts at `directory`, that of the kubeconfig.
StatusOr<ExecPlugin> ExecPluginOf(const Json& user, const Json& cluster, const std::filesystem::path& directory);

// `as`, `as-uid`, `as-groups` and `as-user-extra`.
StatusOr<Impersonation> ImpersonationOf(const Json& user);

}  // namespace attune::kube
