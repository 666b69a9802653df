// Certificates of a job without files: every process derives the key of the job's certificate authority from the job's
// token and issues itself a certificate, in memory, at its start. All of them trust that authority alone, so exactly
// the processes that know the token can talk in TLS, and nothing is handed out, stored or renewed. A process that has
// the token can make such a certificate; the token can prove no more than that anyway.
#pragma once

#include "base/status.h"
#include "ps/transport/security/job_secret.h"
#include "ps/transport/security/tls.h"

namespace attune::ps {

// The DNS name in all of them. The job is known by its authority: another job has another one.
inline constexpr char kSelfIssuedName[] = "node.attune.internal";

// A new key and certificate each time. They do not end: they live as long as the process that made them, and a
// machine's clock may be wrong. FailedPrecondition: the job has no token.
StatusOr<TlsFiles> IssueCertificate(const JobSecret& secret);

}  // namespace attune::ps
