#include <algorithm>
#include <utility>

#include "ps/core/protocol/shard_map.h"
#include "tests/simulation/rows/simulation.h"

namespace attune::ps::simulation {
namespace {

std::string NameOf(Key key) { return "key " + std::to_string(key); }

}  // namespace

// --- what is pushed to copies and read from them

SimPush* RowSimulation::FoldFor(Node& node, NodeId home, TableId table) {
  auto& folds = node.holder.homes[home].folds;
  if (const auto open = folds.find(table); open != folds.end()) return &pushes_[open->second];
  if (pushes_.size() >= kColumnsMax) return nullptr;
  folds[table] = pushes_.size();
  node.pushes.push_back(pushes_.size());
  pushes_.push_back({.origin = node.id,
                     .sequence = SequenceNumber(node.next_sequence++),
                     .table = table,
                     .column = static_cast<uint32_t>(pushes_.size()),
                     .is_open = true});
  return &pushes_.back();
}

// Pushes to those of the rows that have copies, and leaves the others, or the other way round.
void RowSimulation::PushToCopies(Node& node, TableId table, std::vector<Key>& keys) {
  std::vector<Key> copied;
  std::ranges::copy_if(keys, std::back_inserter(copied), [&](Key key) {
    return node.holder.copies.contains({table, key});
  });
  if (copied.empty()) return;
  if (copied.size() < keys.size() && random().Chance(0.5)) {
    std::erase_if(keys, [&](Key key) { return std::ranges::find(copied, key) != copied.end(); });
    return;
  }
  keys.clear();
  for (const Key key : copied) {
    SimPush* const fold = FoldFor(node, node.rows->map().HomeOf(key), table);
    if (fold == nullptr) return;
    const auto at = static_cast<size_t>(std::ranges::find(fold->keys, key) - fold->keys.begin());
    if (at == fold->keys.size()) {
      fold->keys.push_back(key);
      fold->acked.push_back(false);
      fold->folds.emplace_back();
    }
    ++fold->folds[at].pushes;
    ++fold->folds[at].updates;
    node.holder.copies[{table, key}].insert(fold->column);
    Count("pushes to copies");
  }
}

// Takes the rows that have copies out of a pull.
void RowSimulation::ReadCopies(Node& node, TableId table, std::vector<Key>& keys) {
  std::erase_if(keys, [&](Key key) {
    if (!node.holder.copies.contains({table, key})) return false;
    CheckOwnPushes(node, {table, key});
    Count("reads of copies");
    return true;
  });
}

void RowSimulation::UsedElsewhere(Node& node, TableId table, std::span<const Key> keys) {
  for (const Key key : keys) {
    if (node.holder.asked_for.contains({table, key})) node.holder.used.insert({table, key});
  }
}

// --- rounds

void RowSimulation::IssueRound() {
  const std::vector<NodeId> workers = Members(Role::kWorker), servers = Members(Role::kServer);
  if (workers.empty() || servers.empty()) return;
  const NodeId worker = workers[random().Below(workers.size())], home = servers[random().Below(servers.size())];
  if (!Runs(worker)) return;
  Node& node = At(worker);
  const ShardMap& map = node.rows->map();
  if (!map.formed() || !map.Contains(home) || map.Find(worker)->leaving) return;
  std::vector<TableKey> rows;
  for (uint32_t table = 1; table <= p_.tables; ++table) {
    for (Key key = 1; key <= p_.keys; ++key) {
      if (map.HomeOf(key) == home && random().Chance(0.6)) rows.push_back({TableId(table), key});
    }
  }
  SendRound(node, home, rows, [this] { return DrawUse(); });
}

AnnouncedUse RowSimulation::DrawUse() {
  AnnouncedUse use;
  if (random().Chance(0.1)) return use;
  use.reads = static_cast<uint8_t>(random().Below(250));
  use.writes = static_cast<uint8_t>(random().Below(random().Chance(0.7) ? 2 : 50));
  use.milliseconds = static_cast<uint16_t>(1 + random().Below(100));
  return use;
}

void RowSimulation::SendRound(Node& node, NodeId to, const std::vector<TableKey>& rows,
                              const std::function<AnnouncedUse()>& use) {
  SimHolder& holder = node.holder;
  SimHolder::Home& home = holder.homes[to];
  if (home.in_flight) return;
  Count("rounds");
  CloseFolds(node, home);
  const bool is_first = std::exchange(home.round, ++holder.rounds) == 0;
  home.in_flight = true;
  std::map<TableId, Round> pieces;
  std::set<TableKey> all(rows.begin(), rows.end());
  for (const TableKey row : std::exchange(holder.refused, {})) all.insert(row);
  for (const TableKey row : all) {
    if (node.rows->map().HomeOf(row.key) != to) {
      holder.refused.insert(row);
      continue;
    }
    Announce(node, row, use(), pieces[row.table]);
  }
  if (pieces.empty()) pieces[TableId()];
  home.had.clear();
  home.seen.clear();
  for (const auto& [row, columns] : holder.copies) NoteHad(node, to, home, row);
  for (const TableKey row : holder.asked_for) NoteHad(node, to, home, row);
  for (auto it = pieces.begin(); it != pieces.end();) {
    auto& [table, round] = *it;
    round.map_version = node.rows->map().version;
    round.number = home.round;
    round.first = is_first && it == pieces.begin();
    round.rounds_per_second = 1 + holder.rounds % 7 * 15;
    round.table = table;
    round.last = ++it == pieces.end();
    ToNode(node, to, std::move(round));
  }
}

// The folds go before the round, on the same link.
void RowSimulation::CloseFolds(Node& node, SimHolder::Home& home) {
  for (const auto& [table, index] : std::exchange(home.folds, {})) {
    pushes_[index].is_open = false;
    Count("folds");
    SendPush(node, pushes_[index], true);
  }
}

void RowSimulation::Announce(Node& node, TableKey row, AnnouncedUse use, Round& round) {
  SimHolder& holder = node.holder;
  const bool has_copy = holder.copies.contains(row), is_used = use.reads > 0 || use.writes > 0;
  use.has_copy = has_copy ? 1 : 0;
  holder.used.erase(row);
  if (is_used && !has_copy) holder.asked_for.insert(row);
  const auto index = static_cast<uint32_t>(round.keys.size());
  std::vector<Key> keys(round.keys.begin(), round.keys.end());
  std::vector<AnnouncedUse> uses(round.uses.begin(), round.uses.end());
  keys.push_back(row.key);
  uses.push_back(use);
  round.keys = std::move(keys);
  round.uses = std::move(uses);
  if (has_copy) return;
  for (const size_t at : node.pushes) {
    const SimPush& push = pushes_[at];
    const auto it = std::ranges::find(push.keys, row.key);
    if (push.table != row.table || it == push.keys.end()) continue;
    const auto position = static_cast<uint32_t>(it - push.keys.begin());
    if (!push.acked[position]) {
      round.after.push_back({.sequence = push.sequence, .position = position, .key_index = index});
    }
  }
}

// What a copy must contain once the round is answered: what this worker has read of the row, and what was acknowledged
// to any worker. Not the latter where the home is another by now: one that still runs knows nothing of what its
// successor has acknowledged.
void RowSimulation::NoteHad(const Node& node, NodeId to, SimHolder::Home& home, TableKey row) {
  if (node.rows->map().HomeOf(row.key) != to) return;
  Columns& had = home.had[row];
  if (const auto seen = node.holder.seen.find(row); seen != node.holder.seen.end()) home.seen[row] = seen->second;
  if (map_->HomeOf(row.key) != to || At(to).suspected) return;
  for (const SimPush& push : pushes_) {
    const auto it = std::ranges::find(push.keys, row.key);
    if (push.table != row.table || it == push.keys.end() || !map_->Contains(push.origin)) continue;
    if (push.acked[static_cast<size_t>(it - push.keys.begin())]) had.insert(push.column);
  }
}

void RowSimulation::TakeReply(Node& node, NodeId from, const RoundReply& reply) {
  SimHolder& holder = node.holder;
  const auto found = holder.homes.find(from);
  if (found == holder.homes.end() || !found->second.in_flight || found->second.round != reply.number) return;
  SimHolder::Home& home = found->second;
  if (reply.rows.size() != reply.keys.size() * 2 * kColumnsMax) return Violation("a copy without all its values");
  for (size_t i = 0; i < reply.keys.size(); ++i) {
    const TableKey row{reply.table, reply.keys[i]};
    const bool has_copy = holder.copies.contains(row);
    if (!has_copy && (!holder.asked_for.contains(row) || holder.used.contains(row))) {
      holder.refused.insert(row);
      Count("copies not taken");
      continue;
    }
    if (!has_copy) Count("copies");
    Columns columns;
    for (uint32_t column = 0; column < kColumnsMax; ++column) {
      if (reply.rows[i * 2 * kColumnsMax + column] > 0.5F) columns.insert(column);
    }
    for (const auto& [table, index] : home.folds) {
      const SimPush& fold = pushes_[index];
      if (table != row.table || std::ranges::find(fold.keys, row.key) == fold.keys.end()) continue;
      if (!columns.insert(fold.column).second) Violation("FoldOnce: a fold that was not sent is in " + NameOf(row.key));
    }
    holder.copies[row] = std::move(columns);
    holder.eras[row] = reply.versions[i].era();
  }
  for (const Key key : reply.left) home.left.push_back({reply.table, key});
  if (reply.last) EndRound(node, from);
}

void RowSimulation::EndRound(Node& node, NodeId from) {
  SimHolder& holder = node.holder;
  SimHolder::Home& home = holder.homes[from];
  home.in_flight = false;
  std::erase_if(holder.asked_for, [&](TableKey row) { return node.rows->map().HomeOf(row.key) == from; });
  const std::vector<TableKey> left = std::exchange(home.left, {});
  for (auto& [row, had] : std::exchange(home.had, {})) {
    const auto copy = holder.copies.find(row);
    if (copy == holder.copies.end() || std::ranges::find(left, row) != left.end()) continue;
    CheckOwnPushes(node, row);
    if (exposed_.contains(ShardMap::ShardIndex(row.key, p_.shards))) continue;
    if (const auto& seen = home.seen[row]; seen.era >= holder.eras[row]) {
      had.insert(seen.columns.begin(), seen.columns.end());
    }
    for (const uint32_t column : had) {
      if (copy->second.contains(column)) continue;
      Violation("AgeKept: the copy of " + NameOf(row.key) + " at worker " + std::to_string(node.id.value()) +
                " lacks push " + std::to_string(column) + ", which was in the row before the round");
    }
  }
  // What was pushed to copies that the home has taken back goes out before they do.
  const bool has_open = std::ranges::any_of(left, [&](TableKey row) {
    return std::ranges::any_of(home.folds, [&](const auto& fold) {
      return fold.first == row.table &&
             std::ranges::find(pushes_[fold.second].keys, row.key) != pushes_[fold.second].keys.end();
    });
  });
  if (has_open) SendRound(node, from, {}, [] { return AnnouncedUse{}; });
  for (const TableKey row : left) {
    Count("copies taken back");
    holder.copies.erase(row);
  }
}

// Homes have changed, and forget who has copies too.
void RowSimulation::GiveUpCopies(Node& node) {
  for (auto& [id, home] : std::exchange(node.holder.homes, {})) CloseFolds(node, home);
  node.holder.copies.clear();
  node.holder.asked_for.clear();
  node.holder.used.clear();
  node.holder.refused.clear();
}

// --- at the end

// All workers send what they have pushed to copies, and hear of what has changed.
void RowSimulation::RoundsWithAll(bool withdraw) {
  for (const auto& [id, node] : nodes_) {
    if (node->role != Role::kWorker || !node->alive || !map_->Contains(node->id)) continue;
    for (const NodeId home : Members(Role::kServer)) {
      std::vector<TableKey> rows;
      for (uint32_t table = 1; withdraw && table <= p_.tables; ++table) {
        for (Key key = 1; key <= p_.keys; ++key) {
          if (map_->HomeOf(key) == home) rows.push_back({TableId(table), key});
        }
      }
      if (withdraw) node->holder.copies.clear();
      SendRound(*node, home, rows, [] { return AnnouncedUse{}; });
    }
  }
}

void RowSimulation::CheckOwnPushes(const Node& node, TableKey row) {
  if (exposed_.contains(ShardMap::ShardIndex(row.key, p_.shards))) return;
  const Columns& copy = node.holder.copies.at(row);
  for (const size_t index : node.pushes) {
    const SimPush& push = pushes_[index];
    if (push.table != row.table || std::ranges::find(push.keys, row.key) == push.keys.end()) continue;
    if (!copy.contains(push.column)) {
      Violation("OwnPushes: worker " + std::to_string(node.id.value()) + " misses its push " +
                std::to_string(push.column) + " in its copy of " + NameOf(row.key));
    }
  }
}

void RowSimulation::CheckCopiesAtWorkers() {
  for (const auto& [id, node] : nodes_) {
    if (!node->alive || !map_->Contains(node->id)) continue;
    for (const auto& [row, copy] : node->holder.copies) {
      if (exposed_.contains(ShardMap::ShardIndex(row.key, p_.shards))) continue;
      const std::string name = "the copy of " + NameOf(row.key) + " at worker " + std::to_string(id);
      const auto& rows = Store(At(map_->HomeOf(row.key)), row.table, false)->rows();
      const auto found = rows.find(row.key);
      if (found == rows.end()) {
        Violation("ReplicaEqual: " + name + " is of a row that is not at its home");
        continue;
      }
      for (uint32_t column = 0; column < kColumnsMax; ++column) {
        if ((found->second.values[column] > 0.5F) == copy.contains(column)) continue;
        Violation("ReplicaEqual: " + name + " and the row differ in push " + std::to_string(column));
      }
    }
  }
}

void RowSimulation::CheckNoInterests() {
  for (const auto& [id, node] : nodes_) {
    if (!node->alive || !map_->Contains(node->id) || node->rows->replicas().interests() == 0) continue;
    Violation("InterestSound: node " + std::to_string(id) + " has " +
              std::to_string(node->rows->replicas().interests()) + " interests that all workers have withdrawn");
  }
}

}  // namespace attune::ps::simulation
