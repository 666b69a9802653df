// SHA-256, as its bytes or in hexadecimal as `sha256sum` prints it. OpenSSL stays in sha256.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace attune {

inline constexpr size_t kSha256Digits = 64;

// Of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void Update(std::string_view bytes);
  // Of all of them; the next piece is the first one of another.
  std::string Digest();
  std::string Hex();

 private:
  struct Context;
  const std::unique_ptr<Context> context_;
};

std::string Sha256Digest(std::string_view bytes);
std::string Sha256Hex(std::string_view bytes);
bool IsSha256Hex(std::string_view text);

// Whether two proofs or secrets are the same. The time that this takes says nothing about where they differ; their
// lengths are no secrets.
bool SameInConstantTime(std::span<const unsigned char> a, std::span<const unsigned char> b);
bool SameInConstantTime(std::string_view a, std::string_view b);

}  // namespace attune
