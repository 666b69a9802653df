// A next backup becomes complete: every member gives it copies of its rows, in pieces that it answers, and says when it
// has said all; rows that the next backup owns go back to their home.
#include <algorithm>
#include <utility>

#include "ps/core/rows/row_node.h"

namespace attune::ps {

void RowNode::BeginJoins(const ShardMap& old, MonotonicTime, RowOutputs& out) {
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
  PumpJoins(out);
}

// A node is leaving: it may go when it knows that no older order is still on its way to it.
void RowNode::MarkLeaving(const ShardMap& old, RowOutputs& out) {
  for (const Member& member : node_.map().members) {
    if (!member.leaving || member.node == node_.self() || !member.may_own_rows()) continue;
    const Member* before = old.Find(member.node);
    if (before != nullptr && before->leaving && old.Contains(node_.self())) continue;
    node_.Send(member.node, JoinMarker{.map_version = {}, .join_id = {}}, out);
  }
}

void RowNode::EndJoins(RowOutputs& out) {
  const auto ended = joins_.EndUnless([&](const BackupJoins::Id& id, uint32_t shard) {
    return node_.map().shards[shard].next_backup == id.second && node_.map().shards[shard].join_id == id.first;
  });
  for (const BackupJoins::Answer& answer : ended) Answered(answer.withheld, out);
}

// One of the answers has come, or will not come any more, that the HandoverAck of this number may wait for.
void RowNode::Answered(std::optional<uint64_t> withheld, RowOutputs& out) {
  if (!withheld) return;
  if (const auto ack = withheld_.Answered(*withheld)) node_.Send(ack->to, ack->ack, out);
}

void RowNode::PumpJoins(RowOutputs& out) {
  joins_.Pump(
      node_.options().installs_in_flight_max,
      [&](TableId table) { return tables_.RowsPerMessage(*tables_.Rows(table)); },
      [&](const BackupJoins::Id& id, uint64_t number, TableId table, const std::vector<Key>& keys) {
        Install install{.map_version = {}};
        install.rows =
            tables_.Gather(*tables_.Rows(table), table, keys);  // what has left meanwhile is installed where it arrived
        if (install.rows.keys.empty()) return false;
        install.install = number;
        install.records = records_.Of(table, install.rows.keys.view(), DuplicateFilter::Held::kRow, false, id.second);
        node_.Send(id.second, std::move(install), out);
        return true;
      },
      [&](const BackupJoins::Id& id) {
        if (id.second != node_.self()) node_.Send(id.second, JoinMarker{.map_version = {}, .join_id = id.first}, out);
      });
}

// Rows have arrived while their shards get a next backup. Returns how many Installs went out for them; the handover
// of the number `withheld` is acknowledged after their answers.
size_t RowNode::InstallArrived(TableId table, std::span<const Key> keys, uint64_t withheld, RowOutputs& out) {
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
    install.records = records_.Of(table, install.rows.keys.view(), DuplicateFilter::Held::kRow, false, join.second);
    node_.Send(join.second, std::move(install), out);
  }
  return parts.size();
}

void RowNode::On(NodeId from, InstallAck&& ack, MonotonicTime, RowOutputs& out) {
  const auto answer = joins_.Answered(ack.install, from);
  if (!answer) return;
  Answered(answer->withheld, out);
  PumpJoins(out);
  CheckJoins(out);
}

void RowNode::On(NodeId from, JoinMarker&& marker, MonotonicTime, RowOutputs& out) {
  if (marker.join_id == MapVersion()) {
    leave_markers_.insert(from);
    out.report = true;
    return;
  }
  joins_.MarkSent(from, marker.join_id, node_.self(), node_.Mutant(RowMutation::kEarlierJoinCounts));
  CheckJoins(out);
}

bool RowNode::JoinDone(const BackupJoins::Id& id, const BackupJoins::Join& join) const {
  if (!join.to_install.empty() || join.in_flight > 0) return false;
  if (!node_.Mutant(RowMutation::kSyncDoneDespiteHandovers)) {
    for (const uint32_t shard : join.shards) {
      if (shards_[shard].handovers > 0) return false;
    }
  }
  if (id.second != node_.self()) {
    // The home has called back what the next backup owns, or will own when an order that is on its way is carried out.
    const bool is_home =
        std::ranges::any_of(join.shards, [&](uint32_t i) { return node_.map().shards[i].home == node_.self(); });
    return join.marker_sent && !(is_home && call_back_.size() + shards_.directory().called_back() > 0);
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
  return !orders_.AnyRow([&](TableKey row) { return joining[node_.ShardOf(row.key)]; });
}

void RowNode::CheckJoins(RowOutputs& out) {
  const auto is_done = [&](const BackupJoins::Id& id, const BackupJoins::Join& join) { return JoinDone(id, join); };
  if (joins_.UpdateDone(is_done)) out.report = true;
}

}  // namespace attune::ps
