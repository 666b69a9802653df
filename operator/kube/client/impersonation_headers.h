// Impersonation as the API server reads it from headers. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "operator/kube/credentials/client_config.h"

namespace attune::kube {

// Empty without a user to act as. Keys of `extra` become parts of header names, in which everything but letters, digits
// and the other characters of a token is %XX.
std::vector<std::pair<std::string, std::string>> ImpersonationHeaders(const Impersonation& who);

}  // namespace attune::kube
