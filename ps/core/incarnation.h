// Which process of a job this is: its pod in the upper half, by which the platform knows it, and a random number in the
// lower one, which tells a reconnect from a restart.
#pragma once

#include <cstdint>
#include <string_view>

namespace attune::ps {

// Of a pod's uid (FNV-1a, folded). 0: there is none, the process was started by hand.
constexpr uint32_t PodNumber(std::string_view pod_uid) {
  if (pod_uid.empty()) return 0;
  uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : pod_uid) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  const auto number = static_cast<uint32_t>(hash ^ (hash >> 32));
  return number == 0 ? 1 : number;
}

// Never 0.
constexpr uint64_t NewIncarnation(uint32_t pod, uint64_t random) {
  const auto lower = static_cast<uint32_t>(random);
  return uint64_t{pod} << 32 | (lower == 0 ? 1 : lower);
}

constexpr uint32_t PodOf(uint64_t incarnation) { return static_cast<uint32_t>(incarnation >> 32); }

}  // namespace attune::ps
