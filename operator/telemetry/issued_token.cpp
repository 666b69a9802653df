#include "operator/telemetry/issued_token.h"

#include <cjose/cjose.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

namespace attune::telemetry {
namespace {

using kube::Json;

// The clocks of API server and operator differ by less.
constexpr Duration kSkew = std::chrono::seconds(60);
constexpr size_t kKeysMax = 64;

template <auto release>
struct Releaser {
  template <class T>
  void operator()(T* object) const {
    release(object);
  }
};
using Jws = std::unique_ptr<cjose_jws_t, Releaser<cjose_jws_release>>;
using Jwk = std::unique_ptr<cjose_jwk_t, Releaser<cjose_jwk_release>>;

Status Refused(const std::string& why) {
  return Error(StatusCode::kUnauthenticated, "the sidecar's token is not accepted: " + why);
}

std::string HeaderOf(const Jws& jws, const char* name) {
  cjose_err error = {};
  cjose_header_t* header = cjose_jws_get_protected(jws.get());  // the token's own
  const char* value = header == nullptr ? nullptr : cjose_header_get(header, name, &error);
  return value == nullptr ? "" : value;
}

// Signatures with private keys alone. With a public key taken for a shared secret anybody could sign.
bool IsAsymmetric(const std::string& algorithm) {
  const std::array<const char*, 9> kAllowed = {CJOSE_HDR_ALG_RS256, CJOSE_HDR_ALG_RS384, CJOSE_HDR_ALG_RS512,
                                               CJOSE_HDR_ALG_PS256, CJOSE_HDR_ALG_PS384, CJOSE_HDR_ALG_PS512,
                                               CJOSE_HDR_ALG_ES256, CJOSE_HDR_ALG_ES384, CJOSE_HDR_ALG_ES512};
  return std::ranges::find(kAllowed, algorithm) != kAllowed.end();
}

bool IsFor(const Json& claims, const std::string& audience) {
  const Json& stated = kube::At(claims, {"aud"});
  if (stated.is_string()) return stated == audience;
  return stated.is_array() && std::ranges::find(stated, Json(audience)) != stated.end();
}

// Seconds since 1970, or nothing.
std::optional<WallTime> TimeAt(const Json& claims, const char* name) {
  constexpr int64_t kSecondsMax = int64_t{1} << 33;
  const Json& value = kube::At(claims, {name});
  if (!value.is_number_integer() && !value.is_number_unsigned()) return std::nullopt;
  const auto seconds = value.get<int64_t>();
  if (seconds < 0 || seconds > kSecondsMax) return std::nullopt;
  return WallTime(std::chrono::seconds(seconds));
}

Status CheckClaims(const Json& claims, const TokenIssuer& issuer, const std::string& audience, WallTime now) {
  if (!claims.is_object()) return Refused("it has no claims");
  if (kube::StringAt(claims, {"iss"}) != issuer.name) return Refused("it is not of " + issuer.name);
  if (!IsFor(claims, audience)) return Refused("it is not for " + audience);
  const auto expires = TimeAt(claims, "exp");
  if (!expires || now >= *expires + kSkew) return Refused("it has expired, or never does");
  if (claims.contains("nbf")) {
    const auto begins = TimeAt(claims, "nbf");
    if (!begins || now + kSkew < *begins) return Refused("it is not valid yet");
  }
  return OkStatus();
}

StatusOr<PodIdentity> PodOf(const Json& claims) {
  const auto text = [&](std::initializer_list<const char*> path) {
    const Json* at = &kube::At(claims, {"kubernetes.io"});
    for (const char* name : path) at = &kube::At(*at, {name});
    return at->is_string() ? at->get<std::string>() : "";
  };
  PodIdentity identity{text({"namespace"}), text({"pod", "name"}), text({"pod", "uid"})};
  if (identity.name_space.empty() || identity.pod.empty() || identity.pod_uid.empty())
    return Error(StatusCode::kPermissionDenied, "the token is bound to no pod");
  return identity;
}

}  // namespace

StatusOr<TokenIssuer> ReadIssuer(const Json& configuration, const Json& key_set) {
  TokenIssuer issuer;
  issuer.name = kube::StringAt(configuration, {"issuer"});
  const Json& keys = kube::At(key_set, {"keys"});
  if (keys.is_array()) {
    for (const Json& key : keys) {
      const std::string id(kube::StringAt(key, {"kid"})), use(kube::StringAt(key, {"use"}));
      const bool signs = use.empty() || use == "sig";
      if (!id.empty() && signs && issuer.keys.size() < kKeysMax) issuer.keys[id] = key.dump();
    }
  }
  if (issuer.name.empty() || issuer.keys.empty())
    return Error(StatusCode::kUnavailable,
                 "the API server names no issuer of service-account tokens, or no keys of its own "
                 "(/.well-known/openid-configuration, /openid/v1/jwks)");
  return issuer;
}

std::string KeyIdOf(const std::string& token) {
  cjose_err error = {};
  const Jws jws(cjose_jws_import(token.data(), token.size(), &error));
  return jws == nullptr ? "" : HeaderOf(jws, CJOSE_HDR_KID);
}

StatusOr<PodIdentity> VerifyIssuedToken(const std::string& token, const TokenIssuer& issuer,
                                        const std::string& audience, WallTime now) {
  cjose_err error = {};
  const Jws jws(cjose_jws_import(token.data(), token.size(), &error));
  if (jws == nullptr) return Refused("it is no signed token");
  if (!IsAsymmetric(HeaderOf(jws, CJOSE_HDR_ALG))) return Refused("it is signed in a way that proves nothing");
  const auto key = issuer.keys.find(HeaderOf(jws, CJOSE_HDR_KID));
  if (key == issuer.keys.end()) return Refused("its key is none of the API server's");
  const Jwk jwk(cjose_jwk_import(key->second.data(), key->second.size(), &error));
  if (jwk == nullptr) return Refused("the API server's key is of a kind that is not known");
  if (!cjose_jws_verify(jws.get(), jwk.get(), &error)) return Refused("its signature is wrong");
  uint8_t* text = nullptr;  // the token's own
  size_t size = 0;
  if (!cjose_jws_get_plaintext(jws.get(), &text, &size, &error)) return Refused("it cannot be read");
  const Json claims = Json::parse(text, text + size, nullptr, /*allow_exceptions=*/false);
  RETURN_IF_ERROR(CheckClaims(claims, issuer, audience, now));
  return PodOf(claims);
}

}  // namespace attune::telemetry
