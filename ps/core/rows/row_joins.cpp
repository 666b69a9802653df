// A next backup becomes complete: every member gives it copies of its rows, in pieces that it answers, and says when it
// has said all; rows that the next backup owns go back to their home.
#include <algorithm>
#include <utility>

#include "ps/core/rows/row_node.h"

namespace attune::ps {

void RowNode::BeginJoins(const ShardMap& old, MonotonicTime, RowOutputs& out) {
  std::map<JoinKey, std::vector<uint32_t>> begun;
  for (uint32_t i = 0; i < map_.shard_count(); ++i) {
    const Shard& shard = map_.shards[i];
    if (shard.next_backup == NodeId()) continue;
    const bool same = i < old.shards.size() && old.shards[i].next_backup == shard.next_backup &&
                      old.shards[i].join_id == shard.join_id;
    if (!same) begun[{shard.join_id, shard.next_backup}].push_back(i);
  }
  for (auto& [key, shards] : begun) {
    Join& join = joins_[key];
    if (key.second != self_) {
      for (const TableKey row : KeysOfShards(rows_, shards)) join.to_install.push_back(row);
    }
    join.shards = std::move(shards);
  }
  PumpJoins(out);
}

// A node is leaving: it may go when it knows that no older order is still on its way to it.
void RowNode::MarkLeaving(const ShardMap& old, RowOutputs& out) {
  for (const Member& member : map_.members) {
    if (!member.leaving || member.node == self_ || !member.may_own_rows()) continue;
    const Member* before = old.Find(member.node);
    if (before != nullptr && before->leaving && old.Contains(self_)) continue;
    Send(member.node, JoinMarker{.map_version = {}, .join_id = {}}, out);
  }
}

void RowNode::EndJoins(RowOutputs& out) {
  std::vector<JoinKey> ended;
  for (auto& [key, join] : joins_) {
    std::erase_if(join.shards, [&](uint32_t shard) {
      return map_.shards[shard].next_backup != key.second || map_.shards[shard].join_id != key.first;
    });
    if (join.shards.empty()) ended.push_back(key);
  }
  for (const JoinKey& key : ended) joins_.erase(key);
  for (auto it = installs_.begin(); it != installs_.end();) {
    if (joins_.contains(it->second.join)) {
      ++it;
      continue;
    }
    const OpenInstall install = it->second;
    it = installs_.erase(it);
    InstallEnded(install, out);
  }
}

void RowNode::InstallEnded(const OpenInstall& install, RowOutputs& out) {
  if (install.pending_ack) StopWithholding(*install.pending_ack, out);
}

// One of the answers has come that the HandoverAck waits for.
void RowNode::StopWithholding(uint64_t pending_ack, RowOutputs& out) {
  const auto it = pending_acks_.find(pending_ack);
  if (it == pending_acks_.end() || --it->second.installs > 0) return;
  Send(it->second.to, it->second.ack, out);
  pending_acks_.erase(it);
}

void RowNode::PumpJoins(RowOutputs& out) {
  for (auto& [key, join] : joins_) {
    while (!join.to_install.empty() && join.in_flight < options_.installs_in_flight_max) {
      const TableId table = join.to_install.front().table;
      TableStore& store = *Rows(table);
      const size_t chunk = std::max<size_t>(
          1, std::min(options_.rows_per_message_max, options_.floats_per_message_max / (store.spec().options.dim * 3)));
      std::vector<Key> keys;
      while (!join.to_install.empty() && join.to_install.front().table == table && keys.size() < chunk) {
        keys.push_back(join.to_install.front().key);
        join.to_install.pop_front();
      }
      Install install{.map_version = {}};
      install.rows = Gather(store, table, keys);  // what has left meanwhile is installed where it arrived
      if (install.rows.keys.empty()) continue;
      install.install = next_install_++;
      install.records = RecordsOf(table, install.rows.keys.view(), DuplicateFilter::Held::kRow, false, key.second);
      installs_[install.install] = {.join = key, .pending_ack = {}};
      ++join.in_flight;
      Send(key.second, std::move(install), out);
    }
    if (join.to_install.empty() && !join.marker_sent) {
      join.marker_sent = true;
      if (key.second != self_) Send(key.second, JoinMarker{.map_version = {}, .join_id = key.first}, out);
    }
  }
}

// Rows have arrived while their shards get a next backup. Returns how many Installs went out for them; the handover
// `pending` is acknowledged after their answers.
size_t RowNode::InstallArrived(TableId table, std::span<const Key> keys, uint64_t pending, RowOutputs& out) {
  if (joins_.empty()) return 0;
  std::map<JoinKey, std::vector<Key>> parts;
  for (const Key key : keys) {
    const Shard& shard = ShardAt(key);
    if (shard.next_backup == NodeId() || shard.next_backup == self_) continue;
    parts[{shard.join_id, shard.next_backup}].push_back(key);
  }
  for (const auto& [join, part] : parts) {
    Install install{.map_version = {}, .install = next_install_++};
    install.rows = Gather(*Rows(table), table, part);
    install.records = RecordsOf(table, install.rows.keys.view(), DuplicateFilter::Held::kRow, false, join.second);
    installs_[install.install] = {.join = join, .pending_ack = pending};
    ++joins_[join].in_flight;
    Send(join.second, std::move(install), out);
  }
  return parts.size();
}

void RowNode::On(NodeId from, InstallAck&& ack, MonotonicTime, RowOutputs& out) {
  const auto it = installs_.find(ack.install);
  if (it == installs_.end() || it->second.join.second != from) return;
  const OpenInstall install = it->second;
  installs_.erase(it);
  if (const auto join = joins_.find(install.join); join != joins_.end()) --join->second.in_flight;
  InstallEnded(install, out);
  PumpJoins(out);
  CheckJoins(out);
}

void RowNode::On(NodeId from, JoinMarker&& marker, MonotonicTime, RowOutputs& out) {
  if (marker.join_id == MapVersion()) {
    leave_markers_.insert(from);
    out.report = true;
    return;
  }
  for (auto& [key, join] : joins_) {
    if (key.second == self_ && (key.first == marker.join_id || Mutant(RowMutation::kEarlierJoinCounts))) {
      join.markers.insert(from);
    }
  }
  CheckJoins(out);
}

bool RowNode::JoinDone(const JoinKey& key, const Join& join) const {
  if (!join.to_install.empty() || join.in_flight > 0) return false;
  if (!Mutant(RowMutation::kSyncDoneDespiteHandovers)) {
    for (const uint32_t shard : join.shards) {
      if (shards_[shard].handovers > 0) return false;
    }
  }
  if (key.second != self_) {
    // The home has called back what the next backup owns, or will own when an order that is on its way is carried out.
    const bool is_home = std::ranges::any_of(join.shards, [&](uint32_t i) { return map_.shards[i].home == self_; });
    return join.marker_sent && !(is_home && call_back_.size() + calling_back_ > 0);
  }
  for (const Member& member : map_.members) {
    if (member.node != self_ && member.may_own_rows() && !join.markers.contains(member.node)) return false;
  }
  if (Mutant(RowMutation::kNextBackupKeepsRows)) return true;
  std::vector<bool> joining(shards_.size());
  for (const uint32_t shard : join.shards) {
    if (shards_[shard].foreign > 0) return false;
    joining[shard] = true;
  }
  return !orders_.AnyRow([&](TableKey row) { return joining[ShardOf(row.key)]; });
}

void RowNode::CheckJoins(RowOutputs& out) {
  for (auto& [key, join] : joins_) {
    if (join.done || !JoinDone(key, join)) continue;
    join.done = true;
    out.report = true;
  }
}

}  // namespace attune::ps
