// The number that stands for a pod where its uid would be too long: in a node's incarnation, and in what the
// coordinator reports of processes it has lost.
#pragma once

#include <cstdint>
#include <string_view>

namespace attune::contract {

// Of a pod's uid (FNV-1a, folded). 0: there is none, the process was started by hand.
constexpr uint32_t PodNumber(std::string_view pod_uid) {
  if (pod_uid.empty()) return 0;
  uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : pod_uid) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  const auto number = static_cast<uint32_t>(hash ^ (hash >> 32));
  return number == 0 ? 1 : number;
}

}  // namespace attune::contract
