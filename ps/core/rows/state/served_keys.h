// How many keys this node has been asked for, by shard that it is the home of: what its load reports say. Externally
// synchronized.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/membership_messages.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/rows/state/shard_states.h"

namespace attune::ps {

class ServedKeys {
 public:
  // A job's number of shards never changes.
  void SetShards(uint32_t shards) { keys_.resize(shards); }

  void Count(uint32_t shard) { ++keys_[shard]; }
  // Counts keys from the first on while their rows are here for sure (ShardStates::IsPlain). Returns how many; when not
  // all are, the caller counts those of the others that this node is the home of.
  template <typename Keys>
  size_t CountPlain(const ShardStates& states, const Keys& keys) {
    return states.CountPlain(keys, keys_.data());
  }

  // Ascending, without those that nothing was asked for; counts begin again.
  std::vector<ShardKeys> Take() {
    std::vector<ShardKeys> taken;
    taken.reserve(static_cast<size_t>(std::ranges::count_if(keys_, [](uint64_t keys) { return keys > 0; })));
    for (uint32_t shard = 0; shard < keys_.size(); ++shard) {
      if (keys_[shard] == 0) continue;
      taken.push_back({.shard = ShardId(shard), .keys = keys_[shard]});
      keys_[shard] = 0;
    }
    return taken;
  }

 private:
  std::vector<uint64_t> keys_;  // by shard
};

}  // namespace attune::ps
