#include "ps/runtime/control_credentials.h"

#include <algorithm>

#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include "ps/transport/handshake.h"
#include "ps/transport/tls.h"

namespace attune::ps {
namespace {

constexpr char kTokenMetadata[] = "attune-job-token";
constexpr char kNameProperty[] = "x509_subject_alternative_name";
constexpr unsigned kRefreshSeconds = 30;

}  // namespace

StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(const ControlSecurity& security,
                                                                      grpc::ChannelArguments& arguments) {
  if (security.tls_directory.empty()) return grpc::InsecureChannelCredentials();
  ASSIGN_OR_RETURN(TlsFiles files, ReadTlsFiles(security.tls_directory));
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = std::move(files.authority);
  options.pem_private_key = std::move(files.key);
  options.pem_cert_chain = std::move(files.certificate);
  // The coordinator's certificate must be of this job, wherever the coordinator runs.
  arguments.SetSslTargetNameOverride(security.job_uid);
  return grpc::SslCredentials(options);
}

StatusOr<std::shared_ptr<grpc::ServerCredentials>> ListenerCredentials(const ControlSecurity& security) {
  if (security.tls_directory.empty()) return grpc::InsecureServerCredentials();
  // A mistake in the files is told now, not at the first connection.
  if (auto checked = TlsContext::Create(security.tls_directory, security.job_uid); !checked.ok()) {
    return checked.status();
  }
  const std::string& directory = security.tls_directory;
  const auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      directory + "/tls.key", directory + "/tls.crt", directory + "/ca.crt", kRefreshSeconds);
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

void ShowToken(const ControlSecurity& security, grpc::ClientContext& context) {
  if (!security.token.empty()) context.AddMetadata(kTokenMetadata, security.token);
}

Status CheckCaller(const ControlSecurity& security, const grpc::ServerContextBase& context) {
  if (!security.tls_directory.empty()) {
    const auto names = context.auth_context()->FindPropertyValues(kNameProperty);
    if (std::ranges::none_of(names, [&](const grpc::string_ref& name) { return name == security.job_uid; })) {
      return Error(StatusCode::kUnauthenticated,
                   "the node's certificate is not of this job: its names lack the job's uid");
    }
  }
  const auto& metadata = context.client_metadata();
  const auto shown = metadata.find(kTokenMetadata);
  const std::string_view token =
      shown == metadata.end() ? std::string_view() : std::string_view(shown->second.data(), shown->second.size());
  if (!SameSecret(token, security.token)) {
    return Error(StatusCode::kUnauthenticated,
                 "the node's job token is not this job's; give all pods of the job the same token");
  }
  return OkStatus();
}

}  // namespace attune::ps
