// Whether a certificate and its key can serve TLS, said when they are read and not by the first sidecar that fails.
#pragma once

#include <string>

#include "base/status.h"

namespace attune::telemetry {

// Both in PEM; of a chain the first certificate counts. FailedPrecondition: one of them cannot be read, or they do not
// fit together.
Status CheckCertificate(const std::string& chain, const std::string& private_key);

}  // namespace attune::telemetry
