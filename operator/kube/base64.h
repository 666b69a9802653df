// Base64 as Kubernetes uses it in Secrets and kubeconfigs: the standard alphabet, with padding.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace attune::kube {

// Padding is required, white space ignored. InvalidArgument otherwise.
StatusOr<std::string> Base64Decode(std::string_view text);

std::string Base64Encode(std::string_view bytes);

}  // namespace attune::kube
