#include "operator/local/api/rules/identity.h"

#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <ctime>

#include "base/os/random_seed.h"

namespace attune::local {

std::string Rfc3339(WallTime time) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

std::string RandomHex(size_t bytes) {
  std::string text;
  while (text.size() < bytes * 2) {
    std::array<char, 17> piece{};
    std::snprintf(piece.data(), piece.size(), "%016" PRIx64, RandomSeed());
    text += piece.data();
  }
  return text.substr(0, bytes * 2);
}

std::string NewUid() {
  std::string hex = RandomHex(16);
  hex[12] = '4';
  hex[16] = "89ab"[static_cast<unsigned char>(hex[16]) % 4];
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" + hex.substr(16, 4) + "-" +
         hex.substr(20);
}

}  // namespace attune::local
