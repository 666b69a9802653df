#include "base/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace attune {

struct Sha256::Context {
  Context() : digest(::EVP_MD_CTX_new()) {}
  ~Context() { ::EVP_MD_CTX_free(digest); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  void Begin() {
    ATTUNE_CHECK(digest != nullptr && ::EVP_DigestInit_ex(digest, ::EVP_sha256(), nullptr) == 1)
        << "OpenSSL has no SHA-256";
  }
  EVP_MD_CTX* const digest;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) { context_->Begin(); }
Sha256::~Sha256() = default;

void Sha256::Update(std::string_view bytes) {
  ATTUNE_CHECK(::EVP_DigestUpdate(context_->digest, bytes.data(), bytes.size()) == 1) << "OpenSSL's SHA-256 failed";
}

std::string Sha256::Digest() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  ATTUNE_CHECK(::EVP_DigestFinal_ex(context_->digest, digest.data(), &size) == 1) << "OpenSSL's SHA-256 failed";
  context_->Begin();
  return {digest.begin(), digest.begin() + size};
}

std::string Sha256::Hex() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hexadecimal;
  for (const char byte : Digest()) {
    hexadecimal += kDigits[static_cast<unsigned char>(byte) >> 4];
    hexadecimal += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return hexadecimal;
}

std::string Sha256Digest(std::string_view bytes) {
  Sha256 digest;
  digest.Update(bytes);
  return digest.Digest();
}

std::string Sha256Hex(std::string_view bytes) {
  Sha256 digest;
  digest.Update(bytes);
  return digest.Hex();
}

bool IsSha256Hex(std::string_view text) {
  return text.size() == kSha256Digits &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool SameInConstantTime(std::span<const unsigned char> a, std::span<const unsigned char> b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool SameInConstantTime(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace attune
