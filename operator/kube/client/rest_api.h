// kube::Api over HTTP(S) to a real API server. Where that is and who the client is come from LoadKubeconfig and
// InClusterConfig.
// cpprestsdk is an implementation detail of this room's .cpp files; nothing of it is thrown out of them.
#pragma once

#include <memory>

#include "operator/kube/api.h"
#include "operator/kube/credentials/kubeconfig.h"
#include "operator/kube/credentials/service_account.h"

namespace attune::kube {

// Must be called before the first use of RestApi in a process; sets up the shared HTTP threads. Idempotent.
void InitializeHttp();

StatusOr<std::unique_ptr<Api>> MakeRestApi(const ClientConfig& config);

}  // namespace attune::kube
