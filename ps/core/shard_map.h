// Which server is home of which shard, and who is a member. A value: published whole by the coordinator, never edited
// in place by anyone else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "ps/core/ids.h"

namespace attune::ps {

enum class Role : uint8_t { kServer, kWorker };

struct Member {
  NodeId node;
  Role role = Role::kWorker;
  uint32_t index = 0;   // within the role, as the platform numbers it
  std::string address;  // host:port of its data plane; empty for a worker
  bool operator==(const Member&) const = default;
};

struct ShardMap {
  MapVersion version;           // 0: no map yet; shards and homes are empty
  std::vector<NodeId> homes;    // by ShardId; its size is the number of shards, fixed for the job
  std::vector<Member> members;  // ascending NodeId

  uint32_t shard_count() const { return static_cast<uint32_t>(homes.size()); }
  bool formed() const { return version > MapVersion(); }
  // Requires formed().
  ShardId ShardOf(Key key) const { return ps::ShardId(ShardIndex(key, shard_count())); }
  NodeId HomeOf(Key key) const { return homes[ShardIndex(key, shard_count())]; }

  // nullptr when not a member.
  const Member* Find(NodeId node) const;
  bool Contains(NodeId node) const { return Find(node) != nullptr; }

  // SplitMix64 of the key, reduced by multiply-shift: uniform for any pattern of keys, and the same everywhere.
  static uint32_t ShardIndex(Key key, uint32_t shard_count) {
    return static_cast<uint32_t>((uint64_t{static_cast<uint32_t>(SplitMix64(key) >> 32)} * shard_count) >> 32);
  }

  bool operator==(const ShardMap&) const = default;
};

// Deals the shards out to the servers in turn: sizes differ by at most one.
std::vector<NodeId> EvenHomes(uint32_t shard_count, std::span<const NodeId> servers);

// For maps received: versions, sizes, members in order and every home a server among them.
Status Validate(const ShardMap& map);

// "server 1 (node 3, 127.0.0.1:7401)" for messages; "node 3" when it is not a member.
std::string Describe(const ShardMap& map, NodeId node);

}  // namespace attune::ps
