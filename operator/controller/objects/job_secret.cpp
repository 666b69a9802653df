#include "operator/controller/objects/job_secret.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "base/os/random_seed.h"
#include "operator/controller/objects/pods.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

bool IsMadeHere(const api::TrainingJob& job) { return job.spec.security.token_secret.empty(); }

}  // namespace

std::string TokenSecret(const api::TrainingJob& job) {
  return IsMadeHere(job) ? job.status.secret : job.spec.security.token_secret;
}

bool NeedsSecretName(const Observed& observed) {
  return IsMadeHere(observed.job) && observed.job.status.secret.empty() && !HasPods(observed);
}

void PlanSecret(const Observed& observed, Draft& draft) {
  const std::string& name = observed.job.status.secret;
  if (!IsMadeHere(observed.job) || name.empty() || observed.secret_exists || HasPods(observed)) return;
  draft.CreateForPods(CreateSecret{name, "the token of the job's processes"});
}

std::string SecretName(const std::string& job, uint64_t random) {
  return job + "-attune-" + absl::StrFormat("%016x", random);
}

std::string DrawToken() {
  constexpr int kBytes = 32;
  std::string token;
  for (size_t i = 0; i < kBytes / sizeof(uint64_t); ++i) token += absl::StrFormat("%016x", RandomSeed());
  return token;
}

kube::Json BuildSecret(const api::TrainingJob& job, const std::string& name, const std::string& token) {
  return {{"apiVersion", kSecrets.api_version()},
          {"kind", kSecrets.kind},
          {"metadata", OwnedMetadata(job, name)},
          {"type", "Opaque"},
          {"immutable", true},
          {"data", {{contract::kJobTokenFile, absl::Base64Escape(token)}}}};
}

}  // namespace attune::controller
