// What the members' reports of their rows say together. Pure; externally synchronized.
#pragma once

#include <cstdint>
#include <optional>

#include "ps/core/membership/members/member_table.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

// Takes up reports and counts what they add.
class RowReports {
 public:
  // By how much the totals of a member have grown; nullopt: the report is an old one.
  struct Grown {
    uint64_t shards_restored = 0, rows_restored = 0, reinitialized = 0;
  };
  std::optional<Grown> Add(MemberState& member, const RowsReport& report);
  // Received by members while this coordinator led.
  uint64_t rows_moved() const { return rows_moved_; }

 private:
  uint64_t rows_moved_ = 0;
};

// By the newest report of each member.
struct RowTotals {
  uint64_t held = 0, to_come = 0, copies_to_send = 0;
  uint64_t foreign = 0;  // of servers: in shards homed elsewhere, there or on the way from there
};
RowTotals RowsOfAll(const MemberTable& members);
// All have the map, and no shard of theirs is incomplete.
bool AllReady(const MemberTable& members, const ShardMap& map);
// It holds nothing under the map, which does not name it.
bool HoldsNothing(const MemberState& member, const ShardMap& map);

}  // namespace attune::ps
