// Mutual TLS 1.3 with the certificates of one job: a directory with tls.crt, tls.key and ca.crt, as cert-manager and
// Kubernetes' TLS secrets have them.
//
// Both sides show a certificate. It must be signed by ca.crt, be valid now, and carry the job's uid as a DNS name among
// its subject alternative names: one authority may serve many jobs, and a certificate of one is of no use in another.
// Or with certificates that the job's processes make themselves (ps/transport/security/job_authority.h).
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "ps/transport/stream.h"

namespace attune::ps {

// The three files, read together.
struct TlsFiles {
  std::string certificate, key, authority;  // PEM
};
// FailedPrecondition names the file that is missing or unreadable.
StatusOr<TlsFiles> ReadTlsFiles(const std::filesystem::path& directory);

// Makes streams; reads the files again when they have changed, so that rotated certificates serve the next connection.
class TlsContext {
 public:
  // FailedPrecondition: a file is missing, is not PEM, or key and certificate do not fit.
  static StatusOr<std::unique_ptr<TlsContext>> Create(const std::filesystem::path& directory, std::string job_uid);
  // The same from memory: nothing is read again. The peer's certificate must carry `name`.
  static StatusOr<std::unique_ptr<TlsContext>> Create(const TlsFiles& files, std::string name);
  virtual ~TlsContext() = default;

  enum Side { kDialer, kListener };
  // Bytes go once ShakeHands has said done; its error says what is wrong with the peer's certificate.
  virtual StatusOr<std::unique_ptr<Stream>> Wrap(FileDescriptor fd, Side side) = 0;
};

}  // namespace attune::ps
