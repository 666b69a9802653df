// After a node has failed: the home of each shard asks everybody which rows they hold, takes the others from the
// copies, and serves again. Until then operations wait at the home.
#include <algorithm>
#include <utility>

#include "ps/core/protocol/limits.h"
#include "ps/core/rows/row_node.h"
#include "ps/core/rows/state/parts.h"

namespace attune::ps {
namespace {

using Held = DuplicateFilter::Held;

}  // namespace

void RowNode::BeginRecovery(MonotonicTime, RowOutputs& out) {
  copies_.AskAgain(out);
  if (!shards_.AnyCollecting()) return;
  collect_.emplace();
  for (const Member& member : node_.map().members) {
    if (member.node == node_.self() || !member.may_own_rows()) continue;
    collect_->missing.insert(member.node);
    node_.Send(member.node, CollectOwners{.map_version = {}, .recovered_at = node_.map().recovered_at}, out);
  }
}

void RowNode::On(NodeId from, CollectOwners&& collect, MonotonicTime now, RowOutputs& out) {
  if (collect.recovered_at != node_.map().recovered_at) return;
  asked_by_.insert(from);
  CheckReports(now, out);
}

// Answers homes once it is certain where every row sent before has ended.
void RowNode::CheckReports(MonotonicTime, RowOutputs& out) {
  for (auto it = asked_by_.begin(); it != asked_by_.end();) {
    const NodeId home = *it;
    std::vector<uint32_t> shards;
    bool certain = true;
    for (uint32_t i = 0; i < node_.map().shard_count(); ++i) {
      if (node_.map().shards[i].home != home) continue;
      shards.push_back(i);
      certain = certain && shards_[i].handovers == 0;
    }
    if (!certain && !node_.Mutant(RowMutation::kReportWithoutHandoverAcks)) {
      ++it;
      continue;
    }
    std::map<TableId, std::vector<Claim>> entries;
    bool any = std::ranges::any_of(shards, [&](uint32_t shard) { return shards_[shard].foreign > 0; });
    if (any) {
      std::map<TableId, std::vector<Key>> held;
      for (const TableKey key : RowTables::KeysOf(tables_.rows(), shards, node_.map().shard_count()))
        held[key.table].push_back(key.key);
      for (const auto& [table, keys] : held) {
        auto& list = entries[table];
        tables_.Rows(table)->VisitRows(keys, [&, table = table](const RowView& row) {
          list.push_back({.key = {table, row.key}, .owner = node_.self(), .move_number = row.move_number});
        });
      }
    }
    const auto claim = [&](const Claim& entry) {
      if (node_.ShardAt(entry.key.key).home == home && !tables_.Rows(entry.key.table)->Contains(entry.key.key)) {
        entries[entry.key.table].push_back(entry);
      }
    };
    if (!node_.Mutant(RowMutation::kReportWithoutClaims)) std::ranges::for_each(claims_, claim);
    if (node_.Mutant(RowMutation::kReportWithoutHandoverAcks)) {
      moves_.handovers().ForEach([&](const OpenHandover& open) {
        for (size_t i = 0; i < open.keys.size(); ++i) {
          claim({.key = {open.table, open.keys[i]}, .owner = open.to, .move_number = open.move_numbers[i]});
        }
      });
    }
    for (const auto& [table, list] : entries) {
      for (size_t begin = 0; begin < list.size(); begin += kKeysPerMessageMax) {
        const size_t end = std::min(list.size(), begin + kKeysPerMessageMax);
        std::vector<Key> keys;
        std::vector<NodeId> owners;
        std::vector<uint16_t> numbers;
        for (size_t i = begin; i < end; ++i) {
          keys.push_back(list[i].key.key);
          owners.push_back(list[i].owner);
          numbers.push_back(list[i].move_number);
        }
        node_.Send(home,
                   OwnersReport{.map_version = {},
                                .recovered_at = node_.map().recovered_at,
                                .entries = {.table = table,
                                            .keys = std::move(keys),
                                            .owners = std::move(owners),
                                            .move_numbers = std::move(numbers)}},
                   out);
      }
    }
    node_.Send(home,
               OwnersReport{.map_version = {}, .recovered_at = node_.map().recovered_at, .entries = {}, .last = true},
               out);
    it = asked_by_.erase(it);
  }
}

void RowNode::On(NodeId from, OwnersReport&& report, MonotonicTime now, RowOutputs& out) {
  if (report.recovered_at != node_.map().recovered_at || !collect_) return;
  const DirectoryBatch& entries = report.entries;
  for (size_t i = 0; i < entries.keys.size(); ++i) {
    const TableKey key{entries.table, entries.keys[i]};
    const Claim reported{.key = key, .owner = entries.owners[i], .move_number = entries.move_numbers[i]};
    const auto [place, is_new] = collect_->reported.Insert(key);
    if (is_new || static_cast<int16_t>(reported.move_number - place->move_number) > 0) *place = reported;
  }
  if (report.last) collect_->missing.erase(from);
  Resolve(now, out);
}

// The directory of shards whose home survived: what no member reported comes from the backup, or is reinitialized.
void RowNode::RebuildDirectory(std::span<const uint32_t> shards,
                               std::map<std::pair<NodeId, TableId>, std::vector<Key>>& wanted) {
  std::vector<bool> collecting(shards_.size());
  for (const uint32_t shard : shards) collecting[shard] = true;
  std::vector<TableKey> erase, fetch;
  shards_.directory().ForEach([&](TableKey key, const DirectoryEntry&) {
    const uint32_t shard = node_.ShardOf(key.key);
    if (!collecting[shard]) return;
    erase.push_back(key);
    if (tables_.Rows(key.table) == nullptr) return;  // not installed here: the member that reports it has it
    if (tables_.Rows(key.table)->Contains(key.key) || collect_->reported.Contains(key)) return;
    if (!shards_[shard].directory_complete) return;
    if (node_.map().shards[shard].backup != NodeId()) {
      fetch.push_back(key);
    } else {
      restore_.lost[key] = 1;
    }
  });
  for (const TableKey key : erase) shards_.EraseEntry(key);
  for (const TableKey key : fetch) {
    shards_.SetEntry(key, {.owner = node_.self(), .move_number = 0, .fetching = true});
    ++fetching_;
    wanted[{node_.ShardAt(key.key).backup, key.table}].push_back(key.key);
  }
  collect_->reported.ForEach([&](TableKey key, const Claim& claim) {
    if (!collecting[node_.ShardOf(key.key)] || claim.owner == node_.self() || !node_.IsMember(claim.owner)) return;
    if (tables_.Rows(key.table) != nullptr && tables_.Rows(key.table)->Contains(key.key)) return;
    shards_.SetEntry(key, {.owner = claim.owner, .move_number = claim.move_number});
  });
}

void RowNode::Resolve(MonotonicTime now, RowOutputs& out) {
  if (!collect_) return;
  const size_t may_miss = node_.Mutant(RowMutation::kResolveBeforeAllReports) ? 1 : 0;
  if (collect_->missing.size() > may_miss) return;
  std::vector<uint32_t> shards;
  for (uint32_t i = 0; i < shards_.size(); ++i) {
    if (shards_[i].home != HomeState::kCollecting) continue;
    if (shards_[i].handovers > 0) return;
    shards.push_back(i);
  }
  for (const Claim& claim : claims_) {
    if (shards_[node_.ShardOf(claim.key.key)].home != HomeState::kCollecting) continue;
    const auto [place, is_new] = collect_->reported.Insert(claim.key);
    if (is_new) *place = claim;
  }
  std::map<std::pair<NodeId, TableId>, std::vector<Key>> wanted;
  RebuildDirectory(shards, wanted);
  std::vector<bool> has_lost(shards_.size());
  restore_.lost.ForEach([&](TableKey key, uint8_t) { has_lost[node_.ShardOf(key.key)] = true; });
  std::vector<uint32_t> active, promoted, restored;
  std::map<NodeId, std::vector<uint32_t>> all_but;
  for (const uint32_t shard : shards) {
    const bool complete = shards_[shard].directory_complete;
    const NodeId backup = node_.map().shards[shard].backup;
    if (shards_[shard].was_backup && !complete) promoted.push_back(shard);
    // Where only a backup was lost, all rows are with members that have answered.
    const bool may_lack = !complete && shards_[shard].owner_lost;
    if (!shards_[shard].was_backup && !complete && backup != NodeId()) {
      all_but[backup].push_back(shard);
    } else if (has_lost[shard] || (may_lack && (!shards_[shard].was_backup || shards_[shard].copies_partial))) {
      restored.push_back(shard);
    } else {
      active.push_back(shard);
    }
  }
  const auto is_owned = [&](TableKey row) { return collect_->reported.Contains(row); };
  for (const uint32_t shard : promoted) copies_.Promote(shard, is_owned, out);
  for (const auto& [backup, list] : all_but) FetchAllBut(backup, list, out);
  fetching_all_ = std::move(all_but);
  collect_.reset();

  std::set<NodeId> backups;
  for (const auto& [target, keys] : wanted) {
    for (size_t at = 0; at < keys.size(); at += kKeysPerMessageMax) {
      const size_t end = std::min(keys.size(), at + kKeysPerMessageMax);
      node_.Send(target.first,
                 FetchRows{.map_version = {},
                           .recovered_at = node_.map().recovered_at,
                           .table = target.second,
                           .keys = std::vector<Key>(keys.begin() + static_cast<ptrdiff_t>(at),
                                                    keys.begin() + static_cast<ptrdiff_t>(end)),
                           .shards = {}},
                 out);
    }
    backups.insert(target.first);
  }
  for (const NodeId backup : backups) {
    node_.Send(
        backup,
        FetchRows{.map_version = {}, .recovered_at = node_.map().recovered_at, .keys = {}, .shards = {}, .last = true},
        out);
  }
  Activate(active, now, out);
  if (!restored.empty()) BeginRestore(restored, now, out);
}

void RowNode::FetchAllBut(NodeId backup, const std::vector<uint32_t>& shards, RowOutputs& out) {
  std::vector<bool> wanted(shards_.size());
  std::vector<ShardId> ids;
  for (const uint32_t shard : shards) {
    wanted[shard] = true;
    ids.push_back(ShardId(shard));
  }
  std::map<TableId, std::vector<Key>> known;
  for (const TableKey key : RowTables::KeysOf(tables_.rows(), shards, node_.map().shard_count()))
    known[key.table].push_back(key.key);
  collect_->reported.ForEach([&](TableKey key, const Claim&) {
    if (wanted[node_.ShardOf(key.key)]) known[key.table].push_back(key.key);
  });
  for (auto& [table, keys] : known) {
    for (size_t at = 0; at < keys.size(); at += kKeysPerMessageMax) {
      const size_t end = std::min(keys.size(), at + kKeysPerMessageMax);
      node_.Send(backup,
                 FetchRows{.map_version = {},
                           .recovered_at = node_.map().recovered_at,
                           .table = table,
                           .keys = std::vector<Key>(keys.begin() + static_cast<ptrdiff_t>(at),
                                                    keys.begin() + static_cast<ptrdiff_t>(end)),
                           .all_but = true,
                           .shards = {}},
                 out);
    }
  }
  node_.Send(backup,
             FetchRows{.map_version = {},
                       .recovered_at = node_.map().recovered_at,
                       .keys = {},
                       .all_but = true,
                       .shards = std::move(ids),
                       .last = true},
             out);
}

void RowNode::On(NodeId from, FetchRows&& fetch, MonotonicTime, RowOutputs& out) { copies_.Serve(from, fetch, out); }

void RowNode::On(NodeId from, FetchedRows&& fetched, MonotonicTime now, RowOutputs& out) {
  if (fetched.recovered_at != node_.map().recovered_at) return;
  RowBatch& rows = fetched.rows;
  if (const auto why = tables_.WhyUnfit(rows)) return node_.Reject(from, "FetchedRows", *why, out);
  records_.Learn(fetched.records, node_.map());
  if (!rows.keys.empty()) {
    rows.move_numbers = std::vector<uint16_t>(rows.keys.size(), 0);
    if (node_.Mutant(RowMutation::kNoEraFenceAtBackup)) {
      std::vector<RowVersion> versions(rows.versions.begin(), rows.versions.end());
      for (RowVersion& version : versions) version = RowVersion(node_.map().recoveries, version.counter());
      rows.versions = std::move(versions);
    }
    for (const Key key : rows.keys) {
      if (shards_.EndFetch({rows.table, key})) --fetching_;
    }
    Insert(rows, fetched.records, out);
    installs_.CopyArrived(rows.table, rows.keys.view(), 0, out);
    Arrive(std::move(rows), fetched.records, now, out);
  }
  if (!fetched.last) return;
  if (fetched.all_but) {
    const auto it = fetching_all_.find(from);
    if (it == fetching_all_.end()) return;
    const std::vector<uint32_t> shards = std::move(it->second);
    fetching_all_.erase(it);
    return Activate(shards, now, out);
  }
  // Keys that did not come have no copy: no worker has pushed to those rows, as far as any member knows.
  std::map<TableId, std::vector<Key>> absent;
  for (const TableKey row : shards_.EndFetchesIf([&](TableKey row) { return node_.ShardAt(row.key).backup == from; })) {
    --fetching_;
    absent[row.table].push_back(row.key);
  }
  for (const auto& [table, keys] : absent) {
    if (Status status = tables_.Rows(table)->CreateRows(keys, RowVersion(node_.map().recoveries, 0)); !status.ok()) {
      return node_.Lose(std::move(status), out);
    }
    Arrive({.table = table, .keys = keys, .versions = {}, .move_numbers = {}, .values = {}}, {}, now, out);
  }
  if (fetching_ == 0) out.report = true;
}

void RowNode::Activate(std::span<const uint32_t> shards, MonotonicTime now, RowOutputs& out) {
  shards_.Activate(shards);
  moves_.PlanCallBacks();
  Requeue(waiting_.TakeQueue(), now, out);
  moves_.CallBack(now, out);
  out.report = true;
}

}  // namespace attune::ps
