// Which process of a job this is: its pod in the upper half, by which the platform knows it, and a random number in the
// lower one, which distinguishes a reconnect from a restart.
#pragma once

#include <cstdint>

#include "proto/pod_number.h"

namespace attune::ps {

using contract::PodNumber;

// Never 0.
constexpr uint64_t NewIncarnation(uint32_t pod, uint64_t random) {
  const auto lower = static_cast<uint32_t>(random);
  return uint64_t{pod} << 32 | (lower == 0 ? 1 : lower);
}

constexpr uint32_t PodOf(uint64_t incarnation) { return static_cast<uint32_t>(incarnation >> 32); }

}  // namespace attune::ps
