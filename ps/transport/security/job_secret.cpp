#include "ps/transport/security/job_secret.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include "base/check.h"
#include "ps/transport/security/openssl_ptr.h"

namespace attune::ps {
namespace {

char kDigest[] = "SHA256";

OSSL_PARAM Octets(const char* name, std::string_view bytes) {
  return ::OSSL_PARAM_construct_octet_string(name, const_cast<char*>(bytes.data()), bytes.size());
}

// HKDF-SHA256 with the job's uid as salt: the same token in two jobs gives different keys.
KeyBytes Derive(std::string_view token, std::string_view job_uid, std::string_view purpose) {
  // HKDF wants some input; a byte that no text begins with stands for "no token".
  const std::string_view input = token.empty() ? std::string_view("\0", 1) : token;
  const OpenSslPtr<EVP_KDF> kdf(::EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const OpenSslPtr<EVP_KDF_CTX> context(kdf == nullptr ? nullptr : ::EVP_KDF_CTX_new(kdf.get()));
  const OSSL_PARAM parameters[] = {::OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, kDigest, 0),
                                   Octets(OSSL_KDF_PARAM_KEY, input), Octets(OSSL_KDF_PARAM_SALT, job_uid),
                                   Octets(OSSL_KDF_PARAM_INFO, purpose), ::OSSL_PARAM_construct_end()};
  KeyBytes key{};
  ATTUNE_CHECK(context != nullptr && ::EVP_KDF_derive(context.get(), key.data(), key.size(), parameters) == 1)
      << "OpenSSL cannot derive keys";
  return key;
}

}  // namespace

StatusOr<JobSecret> JobSecret::Create(std::string_view job_uid, std::string_view token) {
  if (!token.empty() && (token.size() < kTokenBytesMin || token.size() > kTokenBytesMax)) {
    return Error(StatusCode::kInvalidArgument, "the job's token has " + std::to_string(token.size()) +
                                                   " bytes and needs " + std::to_string(kTokenBytesMin) + " to " +
                                                   std::to_string(kTokenBytesMax) +
                                                   "; make one with: openssl rand -hex 32");
  }
  JobSecret secret;
  secret.has_token_ = !token.empty();
  secret.proof_key_ = Derive(token, job_uid, "attune handshake proof");
  secret.authority_seed_ = Derive(token, job_uid, "attune certificate authority");
  return secret;
}

KeyBytes JobSecret::Prove(std::initializer_list<std::span<const std::byte>> pieces) const {
  static EVP_MAC* const mac = ::EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  const OpenSslPtr<EVP_MAC_CTX> context(mac == nullptr ? nullptr : ::EVP_MAC_CTX_new(mac));
  const OSSL_PARAM parameters[] = {::OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, kDigest, 0),
                                   ::OSSL_PARAM_construct_end()};
  bool good =
      context != nullptr && ::EVP_MAC_init(context.get(), proof_key_.data(), proof_key_.size(), parameters) == 1;
  for (const std::span<const std::byte> piece : pieces) {
    good = good &&
           ::EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(piece.data()), piece.size()) == 1;
  }
  KeyBytes proof{};
  size_t size = 0;
  good = good && ::EVP_MAC_final(context.get(), proof.data(), &size, proof.size()) == 1 && size == proof.size();
  ATTUNE_CHECK(good) << "OpenSSL cannot authenticate messages";
  return proof;
}

KeyBytes FreshNonce() {
  KeyBytes nonce{};
  ATTUNE_CHECK(::RAND_bytes(nonce.data(), static_cast<int>(nonce.size())) == 1) << "OpenSSL has no random bytes";
  return nonce;
}

}  // namespace attune::ps
