#include "ps/runtime/control/control_credentials.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include "base/sha256.h"
#include "ps/transport/security/job_authority.h"
#include "ps/transport/security/job_secret.h"
#include "ps/transport/security/tls.h"

namespace attune::ps {
namespace {

constexpr char kTokenMetadata[] = "attune-job-token";
constexpr char kJobMetadata[] = "attune-job-bin";
constexpr char kNameProperty[] = "x509_subject_alternative_name";
constexpr unsigned kRefreshSeconds = 30;

bool SelfIssued(const ControlSecurity& security) { return security.tls_directory.empty() && !security.token.empty(); }

StatusOr<TlsFiles> OwnCertificate(const ControlSecurity& security) {
  ASSIGN_OR_RETURN(const JobSecret secret, JobSecret::Create(security.job_uid, security.token));
  return IssueCertificate(secret);
}

}  // namespace

StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(const ControlSecurity& security,
                                                                      grpc::ChannelArguments& arguments) {
  if (security.tls_directory.empty() && security.token.empty()) return grpc::InsecureChannelCredentials();
  const bool self_issued = SelfIssued(security);
  ASSIGN_OR_RETURN(TlsFiles files, self_issued ? OwnCertificate(security) : ReadTlsFiles(security.tls_directory));
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = std::move(files.authority);
  options.pem_private_key = std::move(files.key);
  options.pem_cert_chain = std::move(files.certificate);
  // The coordinator's certificate must be of this job, wherever the coordinator runs.
  arguments.SetSslTargetNameOverride(self_issued ? kSelfIssuedName : security.job_uid);
  return grpc::SslCredentials(options);
}

StatusOr<std::shared_ptr<grpc::ServerCredentials>> ListenerCredentials(const ControlSecurity& security) {
  std::shared_ptr<grpc::experimental::CertificateProviderInterface> provider;
  if (SelfIssued(security)) {
    ASSIGN_OR_RETURN(const TlsFiles files, OwnCertificate(security));
    provider = std::make_shared<grpc::experimental::StaticDataCertificateProvider>(
        files.authority, std::vector<grpc::experimental::IdentityKeyCertPair>{
                             {.private_key = files.key, .certificate_chain = files.certificate}});
  } else if (security.tls_directory.empty()) {
    return grpc::InsecureServerCredentials();
  } else {
    // A mistake in the files is reported now, not at the first connection.
    if (auto checked = TlsContext::Create(security.tls_directory, security.job_uid); !checked.ok()) {
      return checked.status();
    }
    const std::string& directory = security.tls_directory;
    provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
        directory + "/tls.key", directory + "/tls.crt", directory + "/ca.crt", kRefreshSeconds);
  }
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

void ShowIdentity(const ControlSecurity& security, grpc::ClientContext& context) {
  // To a peer that has shown a certificate of the job, or to one that nothing is asked of.
  context.AddMetadata(kJobMetadata, security.job_uid);
  if (!security.token.empty() && !SelfIssued(security)) context.AddMetadata(kTokenMetadata, security.token);
}

Status CheckCaller(const ControlSecurity& security, const grpc::ServerContextBase& context) {
  const auto& metadata = context.client_metadata();
  const auto shown = [&](const char* name) {
    const auto found = metadata.find(name);
    return found == metadata.end() ? std::string_view() : std::string_view(found->second.data(), found->second.size());
  };
  if (shown(kJobMetadata) != security.job_uid) {
    return Error(StatusCode::kUnauthenticated, "the node is of another job; check the address it dials");
  }
  if (SelfIssued(security)) return OkStatus();  // its certificate could only be made with the token
  if (!security.tls_directory.empty()) {
    const auto names = context.auth_context()->FindPropertyValues(kNameProperty);
    if (std::ranges::none_of(names, [&](const grpc::string_ref& name) { return name == security.job_uid; })) {
      return Error(StatusCode::kUnauthenticated,
                   "the node's certificate is not of this job: its names lack the job's uid");
    }
  }
  if (!SameInConstantTime(shown(kTokenMetadata), security.token)) {
    return Error(StatusCode::kUnauthenticated,
                 "the node's job token is not this job's; give all pods of the job the same token");
  }
  return OkStatus();
}

}  // namespace attune::ps
