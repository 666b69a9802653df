#include "operator/kube/credentials/credential_source.h"

#include <utility>

#include "operator/kube/credentials/exec_source.h"
#include "operator/kube/credentials/token_source.h"

namespace attune::kube {
namespace {

// A token, fixed or from a file, with a client certificate that stays.
class FixedSource final : public CredentialSource {
 public:
  FixedSource(const ClientConfig& config, const TimeSource& time)
      : tokens_(config.token, config.token_file, time),
        certificate_pem_(config.client_certificate_pem),
        key_pem_(config.client_key_pem) {}

  StatusOr<Credentials> Get(MonotonicTime /*deadline*/) override {
    ASSIGN_OR_RETURN(std::string token, tokens_.Get());
    return Credentials{.token = std::move(token), .certificate_pem = certificate_pem_, .key_pem = key_pem_};
  }
  bool Refused(uint64_t /*number*/) override { return tokens_.Invalidate(); }

 private:
  TokenSource tokens_;
  const std::string certificate_pem_, key_pem_;
};

}  // namespace

std::unique_ptr<CredentialSource> MakeCredentialSource(const ClientConfig& config, const TimeSource& time,
                                                       CommandRunner run) {
  // kubectl does not run the program either when there is a token.
  const bool asks = !config.exec.command.empty() && config.token.empty() && config.token_file.empty();
  if (asks) return std::make_unique<ExecSource>(config, time, std::move(run));
  return std::make_unique<FixedSource>(config, time);
}

}  // namespace attune::kube
