// Pushes in flight when rows were copied, as plain values: which of them the rows contain. Who restores such rows into
// a running job needs it, because workers issue again what was not acknowledged.
#pragma once

#include <cstdint>
#include <vector>

#include "ps/types/key.h"

namespace attune::ps {

struct FilterRecords {
  struct Origin {  // all pushes of `node` up to `acked_below` are acknowledged
    uint32_t node = 0;
    uint64_t acked_below = 0;
    bool operator==(const Origin&) const = default;
  };
  struct Push {  // these keys of (origin, sequence) are decided in the rows of the same node's files
    uint32_t origin = 0;
    uint64_t sequence = 0;
    uint32_t table = 0;
    bool refused = false;  // decided not to be applied
    std::vector<Key> keys;
    std::vector<uint32_t> positions;  // of each key in its push
    bool operator==(const Push&) const = default;
  };
  std::vector<Origin> origins;
  std::vector<Push> pushes;
  bool empty() const { return origins.empty() && pushes.empty(); }
  bool operator==(const FilterRecords&) const = default;
};

}  // namespace attune::ps
