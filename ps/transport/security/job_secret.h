// The one secret of a job, its token, and the keys that are derived from it (HKDF, RFC 5869). The token itself is never
// sent and never used as a key.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace attune::ps {

using KeyBytes = std::array<unsigned char, 32>;

// A value; const functions may be called by any thread.
class JobSecret {
 public:
  // Proofs can be compared with guesses offline by a process that has seen one, so a token must be beyond guessing.
  static constexpr size_t kTokenBytesMin = 16, kTokenBytesMax = 4096;

  // An empty token: the job has none. Proofs then only show that two processes mean the same job, which keeps out
  // accidents. InvalidArgument: the token is too short or too long.
  static StatusOr<JobSecret> Create(std::string_view job_uid, std::string_view token);

  bool has_token() const { return has_token_; }
  // A message authentication code (HMAC-SHA256) over the pieces, which the caller must keep from being cut elsewhere.
  KeyBytes Prove(std::initializer_list<std::span<const std::byte>> pieces) const;
  // What the key of the job's certificate authority is made of (ps/transport/security/job_authority.h).
  const KeyBytes& authority_seed() const { return authority_seed_; }

 private:
  JobSecret() = default;
  bool has_token_ = false;
  KeyBytes proof_key_{};
  KeyBytes authority_seed_{};
};

// Bytes that were never used before and cannot be foreseen.
KeyBytes FreshNonce();

}  // namespace attune::ps
