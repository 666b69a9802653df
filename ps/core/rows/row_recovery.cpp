#include "ps/core/rows/row_recovery.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ps/core/protocol/limits.h"

namespace attune::ps {

void RowRecovery::Forget() {
  reports_.Clear();
  collection_.End();
  fetching_ = 0;
  fetching_all_.clear();
}

void RowRecovery::ForgetNode(NodeId node) {
  reports_.Forget(node);
  collection_.Forget(node);
}

void RowRecovery::Begin(RowOutputs& out) {
  if (!shards_.AnyCollecting()) return;
  collection_.Begin();
  for (const Member& member : node_.map().members) {
    if (member.node == node_.self() || !member.may_own_rows()) continue;
    collection_.Await(member.node);
    node_.Send(member.node, CollectOwners{.map_version = {}, .recovered_at = node_.map().recovered_at}, out);
  }
}

// --- every member

void RowRecovery::On(NodeId from, const CollectOwners& collect, RowOutputs& out) {
  if (collect.recovered_at != node_.map().recovered_at) return;
  reports_.Ask(from);
  Answer(out);
}

void RowRecovery::Learn(const OpenHandover& handover, const HandoverAck& ack) {
  const MapVersion recovered_at = node_.map().recovered_at;
  const MapVersion arrived_at = node_.Mutant(RowMutation::kHandoverAckDatedWhenSent) ? ack.map_version : ack.arrived_at;
  if (recovered_at > MapVersion() && arrived_at >= recovered_at && handover.sent_under < recovered_at) {
    reports_.AddArrived(handover);
  }
}

std::vector<uint32_t> RowRecovery::ShardsOf(NodeId home) const {
  std::vector<uint32_t> shards;
  for (uint32_t i = 0; i < node_.map().shard_count(); ++i) {
    if (node_.map().shards[i].home == home) shards.push_back(i);
  }
  return shards;
}

void RowRecovery::Answer(RowOutputs& out) {
  const std::vector<NodeId> ready = reports_.TakeReady([&](NodeId home) {
    return node_.Mutant(RowMutation::kReportWithoutHandoverAcks) ||
           std::ranges::none_of(ShardsOf(home), [&](uint32_t shard) { return shards_[shard].handovers > 0; });
  });
  for (const NodeId home : ready) {
    for (const auto& [table, list] : ClaimsFor(home)) {
      for (DirectoryBatch& batch : InBatches(table, list)) {
        node_.Send(
            home,
            OwnersReport{.map_version = {}, .recovered_at = node_.map().recovered_at, .entries = std::move(batch)},
            out);
      }
    }
    node_.Send(home,
               OwnersReport{.map_version = {}, .recovered_at = node_.map().recovered_at, .entries = {}, .last = true},
               out);
  }
}

RowRecovery::ClaimsByTable RowRecovery::ClaimsFor(NodeId home) const {
  ClaimsByTable claims;
  const std::vector<uint32_t> shards = ShardsOf(home);
  if (std::ranges::any_of(shards, [&](uint32_t shard) { return shards_[shard].foreign > 0; })) {
    std::map<TableId, std::vector<Key>> held;
    for (const TableKey row : RowTables::KeysOf(tables_.rows(), shards, node_.map().shard_count())) {
      held[row.table].push_back(row.key);
    }
    for (const auto& [table, keys] : held) {
      auto& list = claims[table];
      tables_.Rows(table)->VisitRows(keys, [&, table = table](const RowView& row) {
        list.push_back({.row = {table, row.key}, .owner = node_.self(), .move_number = row.move_number});
      });
    }
  }
  const auto add = [&](const OwnerClaim& claim) {
    if (node_.ShardAt(claim.row.key).home == home && !tables_.Rows(claim.row.table)->Contains(claim.row.key)) {
      claims[claim.row.table].push_back(claim);
    }
  };
  if (!node_.Mutant(RowMutation::kReportWithoutClaims)) std::ranges::for_each(reports_.claims(), add);
  if (node_.Mutant(RowMutation::kReportWithoutHandoverAcks)) {
    handovers_.ForEach([&](const OpenHandover& open) {
      for (size_t i = 0; i < open.keys.size(); ++i) {
        add({.row = {open.table, open.keys[i]}, .owner = open.to, .move_number = open.move_numbers[i]});
      }
    });
  }
  return claims;
}

// --- homes

bool RowRecovery::On(NodeId from, const OwnersReport& report) {
  if (report.recovered_at != node_.map().recovered_at || !collection_.open()) return false;
  collection_.Add(from, report.entries, report.last);
  return true;
}

std::optional<RowRecovery::Resolved> RowRecovery::Resolve(RowOutputs& out) {
  if (!collection_.open()) return std::nullopt;
  const size_t may_miss = node_.Mutant(RowMutation::kResolveBeforeAllReports) ? 1 : 0;
  if (collection_.missing() > may_miss) return std::nullopt;
  std::vector<uint32_t> shards;
  for (uint32_t i = 0; i < shards_.size(); ++i) {
    if (shards_[i].home != ShardStates::Home::kCollecting) continue;
    if (shards_[i].handovers > 0) return std::nullopt;
    shards.push_back(i);
  }
  for (const OwnerClaim& claim : reports_.claims()) {
    if (shards_[node_.ShardOf(claim.row.key)].home == ShardStates::Home::kCollecting) collection_.AddOwn(claim);
  }
  const KeysByBackup wanted = RebuildDirectory(shards);
  const std::vector<bool> has_lost = restore_.ShardsWithLostRows();
  Resolved resolved;
  std::map<NodeId, std::vector<uint32_t>> all_but;
  for (const uint32_t shard : shards) {
    const ShardStates::State& state = shards_[shard];
    const NodeId backup = node_.map().shards[shard].backup;
    if (state.was_backup && !state.directory_complete) resolved.promoted.push_back(shard);
    // Where only a backup was lost, all rows are with members that have answered.
    const bool may_lack = !state.directory_complete && state.owner_lost;
    if (!state.was_backup && !state.directory_complete && backup != NodeId()) {
      all_but[backup].push_back(shard);
    } else if (has_lost[shard] || (may_lack && (!state.was_backup || state.copies_partial))) {
      resolved.restored.push_back(shard);
    } else {
      resolved.active.push_back(shard);
    }
  }
  const auto is_owned = [&](TableKey row) { return collection_.Contains(row); };
  for (const uint32_t shard : resolved.promoted) copies_.Promote(shard, is_owned, out);
  for (const auto& [backup, list] : all_but) FetchAllBut(backup, list, out);
  fetching_all_ = std::move(all_but);
  collection_.End();
  FetchByName(wanted, out);
  return resolved;
}

// The directory of shards whose home survived: what no member reported comes from the backup, or is reinitialized.
RowRecovery::KeysByBackup RowRecovery::RebuildDirectory(std::span<const uint32_t> shards) {
  std::vector<bool> collecting(shards_.size());
  for (const uint32_t shard : shards) collecting[shard] = true;
  std::vector<TableKey> erase, fetch;
  shards_.directory().ForEach([&](TableKey row, const RowDirectory::Entry&) {
    const uint32_t shard = node_.ShardOf(row.key);
    if (!collecting[shard]) return;
    erase.push_back(row);
    if (tables_.Rows(row.table) == nullptr) return;  // not installed here: the member that reports it has it
    if (tables_.Rows(row.table)->Contains(row.key) || collection_.Contains(row)) return;
    if (!shards_[shard].directory_complete) return;
    if (node_.map().shards[shard].backup != NodeId()) {
      fetch.push_back(row);
    } else {
      restore_.AddLost(row);
    }
  });
  for (const TableKey row : erase) shards_.EraseEntry(row);
  KeysByBackup wanted;
  for (const TableKey row : fetch) {
    shards_.SetEntry(row, {.owner = node_.self(), .move_number = 0, .fetching = true});
    ++fetching_;
    wanted[{node_.ShardAt(row.key).backup, row.table}].push_back(row.key);
  }
  collection_.ForEach([&](TableKey row, const OwnerClaim& claim) {
    if (!collecting[node_.ShardOf(row.key)] || claim.owner == node_.self() || !node_.IsMember(claim.owner)) return;
    if (tables_.Rows(row.table) != nullptr && tables_.Rows(row.table)->Contains(row.key)) return;
    shards_.SetEntry(row, {.owner = claim.owner, .move_number = claim.move_number});
  });
  return wanted;
}

void RowRecovery::FetchByName(const KeysByBackup& wanted, RowOutputs& out) {
  std::set<NodeId> backups;
  for (const auto& [target, keys] : wanted) {
    SendKeys(target.first, target.second, keys, false, out);
    backups.insert(target.first);
  }
  for (const NodeId backup : backups) {
    node_.Send(
        backup,
        FetchRows{.map_version = {}, .recovered_at = node_.map().recovered_at, .keys = {}, .shards = {}, .last = true},
        out);
  }
}

void RowRecovery::FetchAllBut(NodeId backup, const std::vector<uint32_t>& shards, RowOutputs& out) {
  std::vector<bool> wanted(shards_.size());
  std::vector<ShardId> ids;
  for (const uint32_t shard : shards) {
    wanted[shard] = true;
    ids.push_back(ShardId(shard));
  }
  std::map<TableId, std::vector<Key>> known;
  for (const TableKey row : RowTables::KeysOf(tables_.rows(), shards, node_.map().shard_count())) {
    known[row.table].push_back(row.key);
  }
  collection_.ForEach([&](TableKey row, const OwnerClaim&) {
    if (wanted[node_.ShardOf(row.key)]) known[row.table].push_back(row.key);
  });
  for (const auto& [table, keys] : known) SendKeys(backup, table, keys, true, out);
  node_.Send(backup,
             FetchRows{.map_version = {},
                       .recovered_at = node_.map().recovered_at,
                       .keys = {},
                       .all_but = true,
                       .shards = std::move(ids),
                       .last = true},
             out);
}

void RowRecovery::SendKeys(NodeId backup, TableId table, std::span<const Key> keys, bool all_but, RowOutputs& out) {
  for (size_t at = 0; at < keys.size(); at += kKeysPerMessageMax) {
    const std::span<const Key> part = keys.subspan(at, std::min(kKeysPerMessageMax, keys.size() - at));
    node_.Send(backup,
               FetchRows{.map_version = {},
                         .recovered_at = node_.map().recovered_at,
                         .table = table,
                         .keys = std::vector<Key>(part.begin(), part.end()),
                         .all_but = all_but,
                         .shards = {}},
               out);
  }
}

void RowRecovery::Take(FetchedRows& fetched) {
  RowBatch& rows = fetched.rows;
  rows.move_numbers = std::vector<uint16_t>(rows.keys.size(), 0);
  if (node_.Mutant(RowMutation::kNoEraFenceAtBackup)) {
    std::vector<RowVersion> versions(rows.versions.begin(), rows.versions.end());
    for (RowVersion& version : versions) version = RowVersion(node_.map().recoveries, version.counter());
    rows.versions = std::move(versions);
  }
  for (const Key key : rows.keys) {
    if (shards_.EndFetch({rows.table, key})) --fetching_;
  }
}

std::optional<std::vector<uint32_t>> RowRecovery::EndFetchAll(NodeId backup) {
  const auto it = fetching_all_.find(backup);
  if (it == fetching_all_.end()) return std::nullopt;
  std::vector<uint32_t> shards = std::move(it->second);
  fetching_all_.erase(it);
  return shards;
}

std::map<TableId, std::vector<Key>> RowRecovery::EndFetches(NodeId backup) {
  std::map<TableId, std::vector<Key>> absent;
  for (const TableKey row :
       shards_.EndFetchesIf([&](TableKey row) { return node_.ShardAt(row.key).backup == backup; })) {
    --fetching_;
    absent[row.table].push_back(row.key);
  }
  return absent;
}

}  // namespace attune::ps
