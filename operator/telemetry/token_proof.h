// How it is found out which pod a sidecar's service-account token was issued for.
#pragma once

namespace attune::telemetry {

enum class TokenProof {
  kReview,  // a TokenReview, a right that belongs to no namespace: also what was withdrawn is known
  kKeys,    // signature and claims, by the keys that the API server publishes (issuer_keys.h)
};

}  // namespace attune::telemetry
