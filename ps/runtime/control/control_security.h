// Credentials of the coordinator's gRPC channel, the same as those of the data plane. With a token the channel is
// always mutual TLS: by the certificates of `tls_directory`, or by those that the token gives
// (ps/transport/security/job_authority.h). gRPC stays in the .cpp files that include control_credentials.h.
#pragma once

#include <string>

namespace attune::ps {

struct ControlSecurity {
  std::string job_uid;
  std::string token;  // the job's secret; empty: it has none
  std::string
      tls_directory;  // tls.crt, tls.key, ca.crt (ps/transport/security/tls.h); in place of those the token gives
};

}  // namespace attune::ps
