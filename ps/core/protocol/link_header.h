// The link layer's part of a frame (ps/core/link/link.h).
#pragma once

#include <cstdint>

namespace attune::ps {

// In front of every row message: the numbers of one direction of one pair of nodes.
struct LinkHeader {
  uint64_t sequence = 0;   // 1, 2, ...; 0: outside the order (a LinkAck)
  uint64_t delivered = 0;  // the sender of this frame has delivered everything up to here of the other direction
  bool operator==(const LinkHeader&) const = default;
};

// Carries a LinkHeader when there is nothing else to say.
struct LinkAck {
  bool operator==(const LinkAck&) const = default;
};

}  // namespace attune::ps
