// Credentials of the coordinator's gRPC channel: the job's certificates and secret, the same as those of the data
// plane. gRPC stays in the .cpp files that include control_credentials.h.
#pragma once

#include <string>

namespace attune::ps {

struct ControlSecurity {
  std::string job_uid;
  std::string token;          // the job's secret; empty: it has none
  std::string tls_directory;  // tls.crt, tls.key, ca.crt (ps/transport/tls.h); empty: no TLS
};

}  // namespace attune::ps
