#include "ps/core/rows/row_installs.h"

#include <algorithm>
#include <utility>

#include "ps/core/rows/state/parts.h"

namespace attune::ps {

void RowInstalls::Answer(const InstallWanted& wanted, RowOutputs& out) {
  TableStore* store = tables_.Rows(wanted.table);
  if (store == nullptr) return;
  if (const Status status = store->CreateRows(wanted.keys.view(), RowVersion(node_.map().recoveries, 0)); !status.ok())
    return;
  Groups<NodeId> groups;
  for (uint32_t i = 0; i < wanted.keys.size(); ++i) {
    const Shard& shard = node_.ShardAt(wanted.keys[i]);
    if (shard.backup != NodeId() && shard.backup != node_.self()) groups.Add(shard.backup, i);
    if (shard.next_backup != NodeId() && shard.next_backup != node_.self()) groups.Add(shard.next_backup, i);
  }
  for (const auto& [to, places] : groups) Send(wanted.table, PartOf(wanted.keys, places).view(), to, out);
}

void RowInstalls::Send(TableId table, std::span<const Key> keys, NodeId to, RowOutputs& out) {
  TableStore* store = tables_.Rows(table);
  if (store == nullptr) return;
  const size_t chunk = tables_.RowsPerMessage(*store);
  for (size_t begin = 0; begin < keys.size(); begin += chunk) {
    const std::span<const Key> part = keys.subspan(begin, std::min(chunk, keys.size() - begin));
    Install install{.map_version = {}};
    install.rows = tables_.Gather(*store, table, part);
    if (install.rows.keys.empty()) continue;
    install.records = records_.Of(table, install.rows.keys.view(), RowRecords::Held::kRow, false, to);
    node_.Send(to, std::move(install), out);
  }
}

void RowInstalls::BeginJoins(const ShardMap& old, RowOutputs& out) {
  std::map<BackupJoins::Id, std::vector<uint32_t>> begun;
  for (uint32_t i = 0; i < node_.map().shard_count(); ++i) {
    const Shard& shard = node_.map().shards[i];
    if (shard.next_backup == NodeId()) continue;
    const bool same = i < old.shards.size() && old.shards[i].next_backup == shard.next_backup &&
                      old.shards[i].join_id == shard.join_id;
    if (!same) begun[{shard.join_id, shard.next_backup}].push_back(i);
  }
  for (auto& [id, shards] : begun) {
    const auto rows = id.second == node_.self() ? std::vector<TableKey>()
                                                : RowTables::KeysOf(tables_.rows(), shards, node_.map().shard_count());
    joins_.Begin(id, std::move(shards), rows);
  }
  Pump(out);
}

void RowInstalls::CopyPromoted(std::span<const uint32_t> shards, RowOutputs& out) {
  for (const uint32_t index : shards) {
    const Shard& shard = node_.map().shards[index];
    if (shard.next_backup == NodeId()) continue;
    const uint32_t only[] = {index};
    joins_.Add({shard.join_id, shard.next_backup}, RowTables::KeysOf(tables_.rows(), only, node_.map().shard_count()));
  }
  Pump(out);
}

void RowInstalls::MarkLeaving(const ShardMap& old, RowOutputs& out) {
  for (const Member& member : node_.map().members) {
    if (!member.leaving || member.node == node_.self() || !member.may_own_rows()) continue;
    const Member* before = old.Find(member.node);
    if (before != nullptr && before->leaving && old.Contains(node_.self())) continue;
    node_.Send(member.node, JoinMarker{.map_version = {}, .join_id = {}}, out);
  }
}

std::vector<BackupJoins::Answer> RowInstalls::EndJoins() {
  return joins_.EndUnless([&](const BackupJoins::Id& id, uint32_t shard) {
    return node_.map().shards[shard].next_backup == id.second && node_.map().shards[shard].join_id == id.first;
  });
}

void RowInstalls::Pump(RowOutputs& out) {
  joins_.Pump(
      node_.options().installs_in_flight_max,
      [&](TableId table) { return tables_.RowsPerMessage(*tables_.Rows(table)); },
      [&](const BackupJoins::Id& id, uint64_t number, TableId table, const std::vector<Key>& keys) {
        Install install{.map_version = {}};
        install.rows =
            tables_.Gather(*tables_.Rows(table), table, keys);  // what has left meanwhile is installed where it arrived
        if (install.rows.keys.empty()) return false;
        install.install = number;
        install.records = records_.Of(table, install.rows.keys.view(), RowRecords::Held::kRow, false, id.second);
        node_.Send(id.second, std::move(install), out);
        return true;
      },
      [&](const BackupJoins::Id& id) {
        if (id.second != node_.self()) node_.Send(id.second, JoinMarker{.map_version = {}, .join_id = id.first}, out);
      });
}

size_t RowInstalls::CopyArrived(TableId table, std::span<const Key> keys, uint64_t withheld, RowOutputs& out) {
  if (joins_.empty()) return 0;
  std::map<BackupJoins::Id, std::vector<Key>> parts;
  for (const Key key : keys) {
    const Shard& shard = node_.ShardAt(key);
    if (shard.next_backup == NodeId() || shard.next_backup == node_.self()) continue;
    parts[{shard.join_id, shard.next_backup}].push_back(key);
  }
  for (const auto& [join, part] : parts) {
    Install install{.map_version = {}, .install = joins_.Open(join, withheld)};
    install.rows = tables_.Gather(*tables_.Rows(table), table, part);
    install.records = records_.Of(table, install.rows.keys.view(), RowRecords::Held::kRow, false, join.second);
    node_.Send(join.second, std::move(install), out);
  }
  return parts.size();
}

void RowInstalls::On(NodeId from, const JoinMarker& marker) {
  if (marker.join_id == MapVersion()) {
    leave_markers_.insert(from);
  } else {
    joins_.MarkSent(from, marker.join_id, node_.self(), node_.Mutant(RowMutation::kEarlierJoinCounts));
  }
}

size_t RowInstalls::LeaveMarkersMissing() const {
  const Member* me = node_.map().Find(node_.self());
  if (me == nullptr || !me->leaving) return 0;
  return static_cast<size_t>(std::ranges::count_if(node_.map().members, [&](const Member& member) {
    const bool gives_orders = member.node != node_.self() && member.may_own_rows();
    return gives_orders && !leave_markers_.contains(member.node);
  }));
}

bool RowInstalls::JoinDone(const BackupJoins::Id& id, const BackupJoins::Join& join, bool rows_come_home,
                           const WaitingOrders& orders) const {
  if (!join.to_install.empty() || join.in_flight > 0) return false;
  const auto is_recovering = [&](uint32_t shard) {
    return node_.map().shards[shard].home == node_.self() && !shards_.IsActive(shard);
  };
  if (std::ranges::any_of(join.shards, is_recovering)) return false;
  if (!node_.Mutant(RowMutation::kSyncDoneDespiteHandovers)) {
    for (const uint32_t shard : join.shards) {
      if (shards_[shard].handovers > 0) return false;
    }
  }
  if (id.second != node_.self()) {
    // The home has called back what the next backup owns, or will own when an order that is on its way is carried out.
    const bool is_home =
        std::ranges::any_of(join.shards, [&](uint32_t i) { return node_.map().shards[i].home == node_.self(); });
    return join.marker_sent && !(is_home && rows_come_home);
  }
  for (const Member& member : node_.map().members) {
    if (member.node != node_.self() && member.may_own_rows() && !join.markers.contains(member.node)) return false;
  }
  if (node_.Mutant(RowMutation::kNextBackupKeepsRows)) return true;
  std::vector<bool> joining(shards_.size());
  for (const uint32_t shard : join.shards) {
    if (shards_[shard].foreign > 0) return false;
    joining[shard] = true;
  }
  return !orders.AnyRow([&](TableKey row) { return joining[node_.ShardOf(row.key)]; });
}

bool RowInstalls::UpdateDone(bool rows_come_home, const WaitingOrders& orders) {
  return joins_.UpdateDone([&](const BackupJoins::Id& id, const BackupJoins::Join& join) {
    return JoinDone(id, join, rows_come_home, orders);
  });
}

}  // namespace attune::ps
