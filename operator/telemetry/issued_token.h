// What a service-account token says of the pod that it was issued for, by the signature of the API server that issued
// it (RFC 7515, 7517 and 7519; the claims are those of Kubernetes' bound tokens). Pure: no call is made.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/object.h"

namespace attune::telemetry {

struct PodIdentity {
  std::string name_space, pod, pod_uid;
};

// Who signs, and with which keys.
struct TokenIssuer {
  std::string name;                         // the claim "iss" of its tokens
  std::map<std::string, std::string> keys;  // by id: public ones, each a JWK as JSON
};

// Of an API server's documents /.well-known/openid-configuration and /openid/v1/jwks. Keys without an id, or for
// something else than signatures, are left out. Unavailable when nothing is left.
StatusOr<TokenIssuer> ReadIssuer(const kube::Json& configuration, const kube::Json& key_set);

// The id of the key that it names; "" where it names none, or is no token.
std::string KeyIdOf(const std::string& token);

// Unauthenticated, with the reason: it is no such token, or of another issuer or audience, or not valid now, or its
// signature is none of these keys'. PermissionDenied: it is no pod's.
StatusOr<PodIdentity> VerifyIssuedToken(const std::string& token, const TokenIssuer& issuer,
                                        const std::string& audience, WallTime now);

}  // namespace attune::telemetry
