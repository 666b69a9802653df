#include "ps/core/membership/members/row_reports.h"

#include <algorithm>

namespace attune::ps {

std::optional<RowReports::Grown> RowReports::Add(MemberState& member, const RowsReport& report) {
  if (member.rows && report.number <= member.rows->number) return std::nullopt;
  const RowsReport before = member.rows.value_or(RowsReport());
  const auto grown = [&](uint64_t RowsReport::*total) {
    return report.*total - std::min(before.*total, report.*total);
  };
  // Not what a member received before it first spoke to this coordinator, nor less again when a member is gone.
  if (member.rows) rows_moved_ += grown(&RowsReport::rows_received);
  member.rows = report;
  return Grown{.shards_restored = grown(&RowsReport::shards_restored),
               .rows_restored = grown(&RowsReport::rows_restored),
               .reinitialized = grown(&RowsReport::rows_begun_anew)};
}

RowTotals RowsOfAll(const MemberTable& members) {
  RowTotals rows;
  for (const auto& [id, member] : members) {
    if (!member.rows) continue;
    rows.held += member.rows->rows_held;
    rows.to_come += member.rows->rows_to_come;
    rows.copies_to_send += member.rows->copies_to_send;
    if (member.is_server()) rows.foreign += member.rows->rows_foreign;
  }
  return rows;
}

bool AllReady(const MemberTable& members, const ShardMap& map) {
  return std::ranges::all_of(members, [&](const auto& entry) {
    const MemberState& member = entry.second;
    if (!member.reports()) return true;
    return member.rows && member.rows->map_version >= map.version && member.rows->shards_not_ready == 0;
  });
}

bool HoldsNothing(const MemberState& member, const ShardMap& map) {
  const NodeId id = member.member.node;
  const bool named = std::ranges::any_of(map.shards, [&](const Shard& shard) {
    return shard.home == id || shard.backup == id || shard.next_backup == id;
  });
  return !named && (!member.rows || (member.rows->map_version >= map.version && member.rows->rows_held == 0 &&
                                     member.rows->handovers_open == 0 && member.rows->operations_waiting == 0));
}

}  // namespace attune::ps
