#include "ps/core/rows/row_moves.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "ps/core/rows/state/owner_collection.h"
#include "ps/core/rows/state/parts.h"

namespace attune::ps {

// --- the home

void RowMoves::Move(TableId table, std::span<const Key> keys, NodeId to, MonotonicTime now, RowOutputs& out) {
  const Member* member = node_.map().Find(to);
  if (member == nullptr || !member->may_own_rows() || (member->leaving && to != node_.self())) return;
  std::vector<Key> here;
  Groups<NodeId> ordered;  // by present owner
  std::vector<uint16_t> numbers(keys.size());
  std::vector<uint16_t> here_numbers;
  unique_.Start(keys.size());
  for (uint32_t i = 0; i < keys.size(); ++i) {
    if (i + kPrefetchDistance < keys.size()) shards_.directory().PrefetchEntry({table, keys[i + kPrefetchDistance]});
    if (unique_.FindOrInsert(keys[i], i) != i) continue;
    const Shard& shard = node_.ShardAt(keys[i]);
    if ((shard.backup == to || shard.next_backup == to) && !node_.Mutant(RowMutation::kRowMovedToBackup)) continue;
    const RowDirectory::Entry* const entry = shards_.directory().Find({table, keys[i]});
    if (entry == nullptr) {
      if (to != node_.self()) here.push_back(keys[i]);
      continue;
    }
    if (entry->owner == to || entry->called_back) continue;  // called back: let it come first
    numbers[i] = static_cast<uint16_t>(entry->move_number + 1);
    ordered.Add(entry->owner, i);
    // Also when another node asked for it: who leaves waits for all that is on its way home and may pass through it.
    shards_.Redirect({table, keys[i]}, to, numbers[i], /*call_back=*/to == node_.self());
  }
  if (!here.empty()) {
    TableStore& store = *tables_.Rows(table);
    Status status = tables_.CheckRoom(table, here, shards_.directory().InTable(table));
    if (status.ok()) status = store.CreateRows(here, RowVersion(node_.map().recoveries, 0));
    if (!status.ok()) {  // no room for rows that no worker has pushed to: they stay where they are
      std::erase_if(here, [&](Key key) { return !store.Contains(key); });
    }
    here_numbers.resize(here.size());
    size_t at = 0;
    store.VisitRows(here, [&](const RowView& row) {
      while (here[at] != row.key) ++at;
      here_numbers[at] = static_cast<uint16_t>(row.move_number + 1);
    });
    for (size_t i = 0; i < here.size(); ++i) {
      shards_.SetEntry({table, here[i]}, {.owner = to, .move_number = here_numbers[i]});
    }
    if (!here.empty()) OrderHere(table, here, here_numbers, to, now, out);
  }
  for (const auto& [owner, places] : ordered) {
    std::vector<Key> part_keys;
    std::vector<uint16_t> part_numbers;
    for (const uint32_t i : places) {
      part_keys.push_back(keys[i]);
      part_numbers.push_back(numbers[i]);
    }
    if (owner == node_.self()) {
      OrderHere(table, part_keys, part_numbers, to, now, out);
    } else {
      node_.Send(owner,
                 MoveOrder{.map_version = {},
                           .table = table,
                           .to = to,
                           .keys = std::move(part_keys),
                           .move_numbers = std::move(part_numbers)},
                 out);
    }
  }
}

// --- the owner

void RowMoves::On(NodeId from, const MoveOrder& order, MonotonicTime now, RowOutputs& out) {
  if (order.map_version < node_.map().recovered_at && !node_.Mutant(RowMutation::kOldOrdersSurviveRecovery)) return;
  if (orders_.size() + order.keys.size() > node_.options().orders_max) {
    return node_.Reject(from, "MoveOrder", std::to_string(orders_.size()) + " orders wait for rows that have not come",
                        out);
  }
  OrderHere(order.table, order.keys.view(), order.move_numbers.view(), order.to, now, out);
}

// Rows that are here with the right number go at once, in one message; for others the order waits.
void RowMoves::OrderHere(TableId table, std::span<const Key> keys, std::span<const uint16_t> move_numbers, NodeId to,
                         MonotonicTime now, RowOutputs& out) {
  TableStore* store = tables_.Rows(table);
  if (store == nullptr) return;
  std::vector<Key> ready;
  std::vector<uint16_t> ready_numbers;
  std::vector<bool> is_ready(keys.size());
  size_t at = 0;
  store->VisitRows(keys, [&](const RowView& row) {
    while (keys[at] != row.key) ++at;
    const bool fits = move_numbers[at] == static_cast<uint16_t>(row.move_number + 1) ||
                      (node_.Mutant(RowMutation::kOrderWithoutExactMoveNumber) && move_numbers[at] > row.move_number);
    if (!fits || !node_.IsMember(to) || to == node_.self()) return;
    is_ready[at] = true;
    ready.push_back(row.key);
    ready_numbers.push_back(move_numbers[at]);
  });
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!is_ready[i] && node_.IsMember(to)) orders_.Add({table, keys[i]}, {.move_number = move_numbers[i], .to = to});
  }
  if (!ready.empty()) HandOver(table, ready, ready_numbers, to, now, out);
}

// Rows have arrived: orders that came before them.
void RowMoves::TryOrders(TableId table, std::span<const Key> keys, MonotonicTime now, RowOutputs& out) {
  if (orders_.empty()) return;
  TableStore& store = *tables_.Rows(table);
  std::map<NodeId, std::pair<std::vector<Key>, std::vector<uint16_t>>> leaving;
  std::vector<Key> with_orders;
  for (const Key key : keys) {
    if (orders_.WaitsFor({table, key})) with_orders.push_back(key);
  }
  store.VisitRows(with_orders, [&](const RowView& row) {
    const auto order =
        orders_.TakeNext({table, row.key}, row.move_number, node_.Mutant(RowMutation::kOrderWithoutExactMoveNumber));
    if (!order) return;
    auto& [leaving_keys, numbers] = leaving[order->to];
    leaving_keys.push_back(row.key);
    numbers.push_back(order->move_number);
  });
  for (auto& [to, rows] : leaving) {
    if (node_.IsMember(to) && to != node_.self()) HandOver(table, rows.first, rows.second, to, now, out);
  }
}

void RowMoves::HandOver(TableId table, std::span<const Key> keys, std::span<const uint16_t> move_numbers, NodeId to,
                        MonotonicTime now, RowOutputs& out) {
  TableStore& store = *tables_.Rows(table);
  const size_t chunk = tables_.RowsPerMessage(store);
  for (size_t begin = 0; begin < keys.size(); begin += chunk) {
    const size_t count = std::min(chunk, keys.size() - begin);
    const std::span<const Key> part = keys.subspan(begin, count);
    KeepCopies(table, part, out);
    Handover message{.map_version = {}, .handover = {}, .mark = snapshot_.mark()};
    message.rows = tables_.Gather(store, table, part);
    const std::span<const uint16_t> numbers = move_numbers.subspan(begin, count);
    message.rows.move_numbers = std::vector<uint16_t>(numbers.begin(), numbers.end());
    message.handover = handovers_.Add({.to = to,
                                       .table = table,
                                       .keys = message.rows.keys,
                                       .move_numbers = message.rows.move_numbers,
                                       .sent_under = node_.map().version});
    const bool stay = node_.Mutant(RowMutation::kRecordsStayAtSource);
    message.records = records_.Of(table, part, RowRecords::Held::kRow, !stay, to);
    if (node_.Mutant(RowMutation::kHandoverWithoutRecords)) message.records.records.clear();
    if (node_.Mutant(RowMutation::kHandoverWithoutSettled)) message.records.settled.clear();
    store.Erase(part);
    replicas_.Left(table, part);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t shard = node_.ShardOf(part[i]);
      shards_.HandoverBegun(shard);
      if (node_.map().shards[shard].home != node_.self()) {
        shards_.RemoveForeign(shard);
      } else {
        shards_.MarkSent({table, part[i]}, to, numbers[i]);
      }
    }
    node_.counters().rows_sent += count;
    node_.Send(to, std::move(message), out);
    pulls_.SendAfter(table, part, to, now, out);
  }
}

// A next backup that gives a row back has its copy at once. If it waited for that of the new owner it would have
// neither while the row is on its way, and what it was the home of before could be lost with that owner and the backup.
void RowMoves::KeepCopies(TableId table, std::span<const Key> leaving, RowOutputs& out) {
  std::vector<Key> kept;
  for (const Key key : leaving) {
    if (node_.ShardAt(key).next_backup == node_.self()) kept.push_back(key);
  }
  if (kept.empty() || node_.Mutant(RowMutation::kRowGivenBackNotKept)) return;
  Install install{.map_version = {}};
  install.rows = tables_.Gather(*tables_.Rows(table), table, kept);
  records_.filter().Collect(table, kept, RowRecords::Held::kRow, false, install.records.records);
  node_.Send(node_.self(), std::move(install), out);
}

void RowMoves::End(const OpenHandover& handover) {
  for (const Key key : handover.keys) shards_.HandoverEnded(node_.ShardOf(key));
}

std::optional<OpenHandover> RowMoves::Acknowledged(NodeId from, const HandoverAck& ack) {
  std::optional<OpenHandover> handover = handovers_.Take(ack.handover, from);
  if (handover) End(*handover);
  return handover;
}

void RowMoves::EndLostHandovers() {
  handovers_.EraseIf([&](const OpenHandover& handover) {
    if (node_.IsMember(handover.to)) return false;
    End(handover);
    return true;
  });
}

// --- the home changes

void RowMoves::SendHandoffs(const std::vector<uint32_t>& shards, bool announce, RowOutputs& out) {
  if (shards.empty()) return;
  std::map<std::pair<NodeId, TableId>, std::vector<OwnerClaim>> entries;
  std::vector<bool> gone(shards_.size());
  for (const uint32_t shard : shards) gone[shard] = true;
  std::vector<TableKey> erase;
  KeyMap<uint8_t> listed;
  shards_.directory().ForEach([&](TableKey key, const RowDirectory::Entry& entry) {
    const uint32_t shard = node_.ShardOf(key.key);
    if (!gone[shard]) return;
    erase.push_back(key);
    listed[key] = 1;
    const NodeId home = node_.map().shards[shard].home;
    if (entry.owner == home && entry.sent_by_me) return;  // has arrived there before this message
    if (node_.Mutant(RowMutation::kHandoffWithoutDirectory)) return;
    entries[{home, key.table}].push_back({.row = key, .owner = entry.owner, .move_number = entry.move_number});
  });
  if (!node_.Mutant(RowMutation::kOldHomeServesLocalize)) {
    for (const TableKey key : erase) shards_.EraseEntry(key);
  }
  RowTables::ForEach(tables_.rows(), [&](TableId table, const TableStore& store) {
    for (const uint32_t shard : shards) {
      std::vector<Key> keys;
      store.ForEachKey(HashRange::OfShard(shard, node_.map().shard_count()), [&](Key key) { keys.push_back(key); });
      shards_.AddForeign(shard, static_cast<uint32_t>(keys.size()));
      if (keys.empty() || node_.Mutant(RowMutation::kHandoffWithoutDirectory)) continue;
      auto& list = entries[{node_.map().shards[shard].home, table}];
      // A row may be here and be ordered away by an order that is still on its way: the directory knows the end of it.
      store.VisitRows(keys, [&](const RowView& row) {
        const TableKey key{table, row.key};
        if (!listed.Contains(key)) list.push_back({.row = key, .owner = node_.self(), .move_number = row.move_number});
      });
    }
  });
  if (!announce) return;
  for (const auto& [target, list] : entries) {
    for (DirectoryBatch& batch : InBatches(target.second, list)) {
      node_.Send(target.first, HomeHandoff{.map_version = {}, .entries = std::move(batch), .complete = {}}, out);
    }
  }
  std::map<NodeId, std::vector<ShardId>> complete;
  for (const uint32_t shard : shards) complete[node_.map().shards[shard].home].push_back(ShardId(shard));
  for (auto& [home, list] : complete) {
    node_.Send(home, HomeHandoff{.map_version = {}, .entries = {}, .complete = std::move(list)}, out);
  }
}

std::vector<uint32_t> RowMoves::Take(const HomeHandoff& handoff) {
  if (handoff.map_version < node_.map().recovered_at) return {};
  const DirectoryBatch& entries = handoff.entries;
  TableStore* store = tables_.Rows(entries.table);
  for (size_t i = 0; i < entries.keys.size(); ++i) {
    const TableKey key{entries.table, entries.keys[i]};
    if (shards_[node_.ShardOf(key.key)].home != ShardStates::Home::kWaitHandoff) continue;
    // By the number of its move: a row that is here may have arrived meanwhile, or may not have left yet, because the
    // order to pass it on, which the entry comes from, is still on its way.
    bool arrived = false;
    if (store != nullptr && entries.owners[i] == node_.self()) {
      store->VisitRows(std::span(&key.key, 1), [&](const RowView& row) {
        arrived = static_cast<int16_t>(row.move_number - entries.move_numbers[i]) >= 0;
      });
    }
    if (node_.Mutant(RowMutation::kPresentCountsAsArrived)) arrived = store != nullptr && store->Contains(key.key);
    if (!arrived) shards_.SetEntry(key, {.owner = entries.owners[i], .move_number = entries.move_numbers[i]});
  }
  std::vector<uint32_t> ready;
  for (const ShardId shard : handoff.complete) {
    if (shard.value() < shards_.size() && shards_[shard.value()].home == ShardStates::Home::kWaitHandoff) {
      ready.push_back(shard.value());
    }
  }
  return ready;
}

// --- rows come home

void RowMoves::PlanCallBacks() {
  call_backs_.Plan(shards_, node_.map(), node_.self(),
                   {.from_servers = node_.options().call_back_from_servers,
                    .from_next_backups = !node_.Mutant(RowMutation::kNextBackupKeepsRows)});
}

// Long rows are called back fewer at a time, so that links and memory hold a bounded number of bytes of them.
size_t RowMoves::RowsCalledBackMax(TableId table) const {
  const TableStore* store = tables_.Rows(table);
  if (store == nullptr) return node_.options().rows_called_back_max;
  const size_t row_bytes = size_t{store->spec().options.dim} * 3 * sizeof(float);
  return std::clamp<size_t>(node_.options().bytes_called_back_max / row_bytes, 1, node_.options().rows_called_back_max);
}

void RowMoves::CallBack(MonotonicTime now, RowOutputs& out) {
  const auto in_flight_max = [&](TableId table) { return RowsCalledBackMax(table); };
  while (const auto batch =
             call_backs_.Next(shards_, node_.self(), node_.options().rows_per_message_max, in_flight_max)) {
    Move(batch->table, batch->keys, node_.self(), now, out);
  }
}

}  // namespace attune::ps
