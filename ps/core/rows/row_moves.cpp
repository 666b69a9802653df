// Rows change their owner: the home decides and is obeyed in the order of move numbers; the row travels with its state
// and the records of pushes it contains.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/rows/row_node.h"
#include "ps/core/rows/state/parts.h"

namespace attune::ps {
namespace {

using Held = DuplicateFilter::Held;

}  // namespace

// --- the directory

void RowNode::SetEntry(TableKey key, DirectoryEntry entry) {
  const uint32_t shard = ShardOf(key.key);
  directory_.Set(key, shard, entry);
  plain_[shard] = 0;
}

void RowNode::EraseEntry(TableKey key) {
  const uint32_t shard = ShardOf(key.key);
  if (!directory_.Erase(key, shard) || directory_.InShard(shard) > 0) return;
  plain_[shard] = shards_[shard].home == HomeState::kActive ? 1 : 0;
}

// --- the home

void RowNode::On(NodeId from, Localize&& localize, MonotonicTime now, RowOutputs& out) {
  if (localize.keys.empty() || Rows(localize.table) == nullptr) return;
  Groups<Place> groups;
  for (uint32_t i = 0; i < localize.keys.size(); ++i) {
    const uint32_t shard = ShardOf(localize.keys[i]);
    const NodeId home = map_.shards[shard].home;
    using enum Place::What;
    if (Mutant(RowMutation::kOldHomeServesLocalize) && home != self_ &&
        directory_.Contains({localize.table, localize.keys[i]})) {
      groups.Add({kHere, {}, false}, i);
    } else if (home != self_) {
      groups.Add({kSend, home, false}, i);
    } else {
      groups.Add({shards_[shard].home == HomeState::kActive ? kHere : kQueue, {}, false}, i);
    }
  }
  for (const auto& [place, places] : groups) {
    const Slice<Key> keys = PartOf(localize.keys, places);
    if (place.what == Place::What::kHere) {
      Move(localize.table, keys.view(), localize.to, false, now, out);
      continue;
    }
    Localize part{.map_version = {}, .table = localize.table, .to = localize.to, .keys = keys};
    if (place.what == Place::What::kSend) {
      Send(place.to, std::move(part), out);
    } else {
      waiting_.Queue({.from = from, .message = std::move(part)});
    }
  }
}

// All keys are homed here and the home is active.
void RowNode::Move(TableId table, std::span<const Key> keys, NodeId to, bool call_back, MonotonicTime now,
                   RowOutputs& out) {
  const Member* member = map_.Find(to);
  if (member == nullptr || !member->may_own_rows() || (member->leaving && to != self_)) return;
  std::vector<Key> here;
  Groups<NodeId> ordered;  // by present owner
  std::vector<uint16_t> numbers(keys.size());
  std::vector<uint16_t> here_numbers;
  unique_.Start(keys.size());
  for (uint32_t i = 0; i < keys.size(); ++i) {
    if (unique_.FindOrInsert(keys[i], i) != i) continue;
    const Shard& shard = ShardAt(keys[i]);
    if ((shard.backup == to || shard.next_backup == to) && !Mutant(RowMutation::kRowMovedToBackup)) continue;
    const DirectoryEntry* const entry = directory_.Find({table, keys[i]});
    if (entry == nullptr) {
      if (to != self_) here.push_back(keys[i]);
      continue;
    }
    if (entry->owner == to || entry->called_back) continue;  // called back: let it come first
    numbers[i] = static_cast<uint16_t>(entry->move_number + 1);
    ordered.Add(entry->owner, i);
    directory_.Redirect({table, keys[i]}, to, numbers[i], call_back);
  }
  if (!here.empty()) {
    TableStore& store = *Rows(table);
    Status status = CheckRoom(store, table, here);
    if (status.ok()) status = store.CreateRows(here, RowVersion(map_.recoveries, 0));
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
      SetEntry({table, here[i]}, {.owner = to, .move_number = here_numbers[i]});
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
    if (owner == self_) {
      OrderHere(table, part_keys, part_numbers, to, now, out);
    } else {
      Send(owner,
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

void RowNode::On(NodeId from, MoveOrder&& order, MonotonicTime now, RowOutputs& out) {
  if (order.map_version < map_.recovered_at && !Mutant(RowMutation::kOldOrdersSurviveRecovery)) return;
  if (orders_.size() + order.keys.size() > options_.orders_max) {
    return Reject(from, "MoveOrder", std::to_string(orders_.size()) + " orders wait for rows that have not come", out);
  }
  OrderHere(order.table, order.keys.view(), order.move_numbers.view(), order.to, now, out);
}

// Rows that are here with the right number go at once, in one message; for others the order waits.
void RowNode::OrderHere(TableId table, std::span<const Key> keys, std::span<const uint16_t> move_numbers, NodeId to,
                        MonotonicTime now, RowOutputs& out) {
  TableStore* store = Rows(table);
  if (store == nullptr) return;
  std::vector<Key> ready;
  std::vector<uint16_t> ready_numbers;
  std::vector<bool> is_ready(keys.size());
  size_t at = 0;
  store->VisitRows(keys, [&](const RowView& row) {
    while (keys[at] != row.key) ++at;
    const bool fits = move_numbers[at] == static_cast<uint16_t>(row.move_number + 1) ||
                      (Mutant(RowMutation::kOrderWithoutExactMoveNumber) && move_numbers[at] > row.move_number);
    if (!fits || !IsMember(to) || to == self_) return;
    is_ready[at] = true;
    ready.push_back(row.key);
    ready_numbers.push_back(move_numbers[at]);
  });
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!is_ready[i] && IsMember(to)) orders_.Add({table, keys[i]}, {.move_number = move_numbers[i], .to = to});
  }
  if (!ready.empty()) HandOver(table, ready, ready_numbers, to, now, out);
}

// Rows have arrived: orders that came before them.
void RowNode::TryOrders(TableId table, std::span<const Key> keys, MonotonicTime now, RowOutputs& out) {
  if (orders_.empty()) return;
  TableStore& store = *Rows(table);
  std::map<NodeId, std::pair<std::vector<Key>, std::vector<uint16_t>>> leaving;
  std::vector<Key> with_orders;
  for (const Key key : keys) {
    if (orders_.WaitsFor({table, key})) with_orders.push_back(key);
  }
  store.VisitRows(with_orders, [&](const RowView& row) {
    const auto order =
        orders_.TakeNext({table, row.key}, row.move_number, Mutant(RowMutation::kOrderWithoutExactMoveNumber));
    if (!order) return;
    auto& [leaving_keys, numbers] = leaving[order->to];
    leaving_keys.push_back(row.key);
    numbers.push_back(order->move_number);
  });
  for (auto& [to, rows] : leaving) {
    if (IsMember(to) && to != self_) HandOver(table, rows.first, rows.second, to, now, out);
  }
}

RowBatch RowNode::Gather(TableStore& store, TableId table, std::span<const Key> keys) const {
  std::vector<Key> found;
  std::vector<RowVersion> versions;
  std::vector<uint16_t> numbers;
  found.reserve(keys.size());
  versions.reserve(keys.size());
  numbers.reserve(keys.size());
  std::shared_ptr<void> memory;  // that is used again: fresh pages would cost as much as the copy
  float* next = nullptr;
  store.VisitRows(keys, [&](const RowView& row) {
    if (memory == nullptr) {  // all rows of a table are as large
      memory = NewRowMemory(keys.size() * (row.values.size() + row.state.size()) * sizeof(float));
      next = static_cast<float*>(memory.get());
    }
    found.push_back(row.key);
    versions.push_back(row.version);
    numbers.push_back(row.move_number);
    next = std::ranges::copy(row.values, next).out;
    if (Mutant(RowMutation::kStateStaysAtSource)) {
      next = std::fill_n(next, row.state.size(), 0.0F);
    } else {
      next = std::ranges::copy(row.state, next).out;
    }
  });
  const auto* const first = static_cast<const float*>(memory.get());
  return {.table = table,
          .keys = std::move(found),
          .versions = std::move(versions),
          .move_numbers = std::move(numbers),
          .values = Slice<float>(memory, {first, static_cast<size_t>(next - first)})};
}

// `only`: these rows of the batch; empty: all. Spans point into the batch.
std::vector<RowView> RowNode::ViewsOf(const TableStore& store, const RowBatch& rows, std::span<const uint32_t> only) {
  const size_t width = rows.values.size() / rows.keys.size();
  const size_t dim = std::min<size_t>(store.spec().options.dim, width);
  std::vector<RowView> views(only.empty() ? rows.keys.size() : only.size());
  for (size_t i = 0; i < views.size(); ++i) {
    const size_t place = only.empty() ? i : only[i];
    const std::span<const float> row = rows.values.view().subspan(place * width, width);
    views[i] = {.key = rows.keys[place],
                .version = rows.versions[place],
                .move_number = rows.move_numbers[place],
                .values = row.first(dim),
                .state = row.subspan(dim)};
  }
  return views;
}

void RowNode::Insert(TableStore& store, const RowBatch& rows, std::span<const uint32_t> only, RowOutputs& out) {
  const size_t count = only.empty() ? rows.keys.size() : only.size();
  if (count == 0) return;
  if (Status status = store.Insert(ViewsOf(store, rows, only)); !status.ok()) {
    Lose(Annotate(status, "taking over " + std::to_string(count) + " rows of table \"" + store.spec().name + "\""),
         out);
  }
}

Records RowNode::RecordsOf(TableId table, std::span<const Key> keys, Held held, bool take, NodeId to) {
  Records records;
  filter_.Collect(table, keys, held, take, records.records);
  filter_.NewsSince(news_sent_[to], records.settled);
  return records;
}

void RowNode::Learn(const Records& records) {
  for (const Settled& settled : records.settled) {
    if (IsMember(settled.origin)) filter_.MergeAckedBelow(settled.origin, settled.acked_below);
  }
}

// Records of nodes that are members: others send nothing that they could be about.
void RowNode::AddRecords(TableId table, std::span<const Key> keys, std::span<const FilterRecord> records, Held held) {
  const auto gone = [&](const FilterRecord& record) { return !IsMember(record.origin); };
  if (std::ranges::none_of(records, gone)) return filter_.Add(table, keys, records, held);
  std::vector<FilterRecord> of_members(records.begin(), records.end());
  std::erase_if(of_members, gone);
  filter_.Add(table, keys, of_members, held);
}

// What a decoder cannot know of rows from another node. False: the message is rejected.
bool RowNode::FitsTable(NodeId from, const char* kind, const RowBatch& rows, RowOutputs& out) {
  if (rows.keys.empty()) return true;
  const TableStore* store = Rows(rows.table);
  if (store == nullptr) {
    Reject(from, kind, "rows of table " + std::to_string(rows.table.value()) + ", which is not installed here", out);
    return false;
  }
  if (rows.values.size() == rows.keys.size() * store->row_floats()) return true;
  Reject(from, kind,
         std::to_string(rows.values.size()) + " values for " + std::to_string(rows.keys.size()) + " rows of table \"" +
             store->spec().name + "\", which have " + std::to_string(store->row_floats()) + " each",
         out);
  return false;
}

// Before these rows are inserted: those that are here are counted already.
void RowNode::CountForeign(TableId table, std::span<const Key> keys) {
  present_.resize((keys.size() + 63) / 64);
  Rows(table)->Contains(keys, present_);
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint32_t shard = ShardOf(keys[i]);
    if (map_.shards[shard].home == self_ || ((present_[i / 64] >> (i % 64)) & 1) != 0) continue;
    ++shards_[shard].foreign;
    ++foreign_rows_;
  }
}

void RowNode::HandOver(TableId table, std::span<const Key> keys, std::span<const uint16_t> move_numbers, NodeId to,
                       MonotonicTime now, RowOutputs& out) {
  TableStore& store = *Rows(table);
  const size_t chunk = RowsPerMessage(store);
  for (size_t begin = 0; begin < keys.size(); begin += chunk) {
    const size_t count = std::min(chunk, keys.size() - begin);
    const std::span<const Key> part = keys.subspan(begin, count);
    Handover message{.map_version = {}, .handover = {}, .mark = snapshot_.mark};
    message.rows = Gather(store, table, part);
    const std::span<const uint16_t> numbers = move_numbers.subspan(begin, count);
    message.rows.move_numbers = std::vector<uint16_t>(numbers.begin(), numbers.end());
    message.handover = handovers_.Add({.to = to,
                                       .table = table,
                                       .keys = message.rows.keys,
                                       .move_numbers = message.rows.move_numbers,
                                       .sent_under = map_.version});
    const bool stay = Mutant(RowMutation::kRecordsStayAtSource);
    message.records = RecordsOf(table, part, Held::kRow, !stay, to);
    if (Mutant(RowMutation::kHandoverWithoutRecords)) message.records.records.clear();
    if (Mutant(RowMutation::kHandoverWithoutSettled)) message.records.settled.clear();
    store.Erase(part);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t shard = ShardOf(part[i]);
      ShardState& state = shards_[shard];
      ++state.handovers;
      if (map_.shards[shard].home != self_) {
        --state.foreign;
        --foreign_rows_;
      } else {
        directory_.MarkSent({table, part[i]}, to, numbers[i]);
      }
    }
    counters_.rows_sent += count;
    Send(to, std::move(message), out);
    SendParkedAfter(table, part, to, now, out);
  }
}

void RowNode::HandoverEnded(const OpenHandover& handover) {
  for (const Key key : handover.keys) --shards_[ShardOf(key)].handovers;
}

void RowNode::On(NodeId from, HandoverAck&& ack, MonotonicTime now, RowOutputs& out) {
  const std::optional<OpenHandover> acknowledged = handovers_.Take(ack.handover, from);
  if (!acknowledged) return;
  const OpenHandover& handover = *acknowledged;
  HandoverEnded(handover);
  const MapVersion arrived_at = Mutant(RowMutation::kHandoverAckDatedWhenSent) ? ack.map_version : ack.arrived_at;
  if (map_.recovered_at > MapVersion() && arrived_at >= map_.recovered_at && handover.sent_under < map_.recovered_at) {
    for (size_t i = 0; i < handover.keys.size(); ++i) {
      claims_.push_back(
          {.key = {handover.table, handover.keys[i]}, .owner = from, .move_number = handover.move_numbers[i]});
    }
  }
  CheckReports(now, out);
  Resolve(now, out);
  CheckJoins(out);
  if (handovers_.empty()) out.report = true;
}

// --- the new owner

void RowNode::On(NodeId from, Handover&& handover, MonotonicTime now, RowOutputs& out) {
  if (!FitsTable(from, "Handover", handover.rows, out)) return;
  const Slice<Key> keys = handover.rows.keys;
  const TableId table = handover.rows.table;
  counters_.rows_received += keys.size();
  HandoverAck ack{.map_version = {}, .handover = handover.handover, .arrived_at = map_.version};
  // Rows first: their installs read them. Nothing else leaves before the installs.
  Learn(handover.records);
  CountForeign(table, keys.view());
  Insert(*Rows(table), handover.rows, {}, out);
  AddRecords(table, keys.view(), handover.records.records, Held::kRow);
  out.arrived.push_back({.table = table, .keys = keys});
  const uint64_t number = withheld_.Reserve();
  size_t awaited =
      Mutant(RowMutation::kArrivalDuringJoinNotInstalled) ? 0 : InstallArrived(table, keys.view(), number, out);
  awaited += ArrivedUnmarked(handover, number, out);
  if (awaited == 0) {
    Send(from, ack, out);
  } else {
    withheld_.Add(number, {.to = from, .ack = ack}, awaited);
  }
  Arrive(std::move(handover.rows), handover.records, now, out);
}

// Rows have been inserted with their records: what waited for them.
void RowNode::Arrive(RowBatch rows, const Records& records, MonotonicTime now, RowOutputs& out) {
  for (size_t i = 0; i < rows.keys.size(); ++i) {
    const TableKey key{rows.table, rows.keys[i]};
    const uint16_t number = rows.move_numbers.empty() ? uint16_t{0} : rows.move_numbers[i];
    const DirectoryEntry* entry = directory_.Find(key);  // it may pass through here to come again later
    if (entry != nullptr && entry->owner == self_ && entry->move_number == number) EraseEntry(key);
  }
  RunWaiting(rows.table, rows.keys.view(), now, out);
  for (const Settled& settled : records.settled) RetryParked(settled.origin, out);
  TryOrders(rows.table, rows.keys.view(), now, out);
  CallBack(now, out);
  if (!joins_.empty()) CheckJoins(out);
}

// --- the home changes

// Without `announce` (a recovery asks all members anyway) only this node's own books change.
void RowNode::SendHandoffs(const std::vector<uint32_t>& shards, bool announce, RowOutputs& out) {
  if (shards.empty()) return;
  std::map<std::pair<NodeId, TableId>, std::vector<std::pair<Key, std::pair<NodeId, uint16_t>>>> entries;
  std::vector<bool> gone(shards_.size());
  for (const uint32_t shard : shards) gone[shard] = true;
  std::vector<TableKey> erase;
  KeyMap<uint8_t> listed;
  directory_.ForEach([&](TableKey key, const DirectoryEntry& entry) {
    const uint32_t shard = ShardOf(key.key);
    if (!gone[shard]) return;
    erase.push_back(key);
    listed[key] = 1;
    const NodeId home = map_.shards[shard].home;
    if (entry.owner == home && entry.sent_by_me) return;  // has arrived there before this message
    if (Mutant(RowMutation::kHandoffWithoutDirectory)) return;
    entries[{home, key.table}].push_back({key.key, {entry.owner, entry.move_number}});
  });
  if (!Mutant(RowMutation::kOldHomeServesLocalize)) {
    for (const TableKey key : erase) EraseEntry(key);
  }
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i] == nullptr) continue;
    const TableId table(static_cast<uint32_t>(i + 1));
    for (const uint32_t shard : shards) {
      std::vector<Key> keys;
      rows_[i]->ForEachKey(HashRange::OfShard(shard, map_.shard_count()), [&](Key key) { keys.push_back(key); });
      shards_[shard].foreign += static_cast<uint32_t>(keys.size());
      foreign_rows_ += keys.size();
      if (keys.empty() || Mutant(RowMutation::kHandoffWithoutDirectory)) continue;
      auto& list = entries[{map_.shards[shard].home, table}];
      // A row may be here and be ordered away by an order that is still on its way: the directory knows the end of it.
      rows_[i]->VisitRows(keys, [&](const RowView& row) {
        if (!listed.Contains({table, row.key})) list.push_back({row.key, {self_, row.move_number}});
      });
    }
  }
  if (!announce) return;
  for (const auto& [target, list] : entries) {
    for (size_t begin = 0; begin < list.size(); begin += kKeysPerMessageMax) {
      const size_t end = std::min(list.size(), begin + kKeysPerMessageMax);
      std::vector<Key> keys;
      std::vector<NodeId> owners;
      std::vector<uint16_t> numbers;
      for (size_t i = begin; i < end; ++i) {
        keys.push_back(list[i].first);
        owners.push_back(list[i].second.first);
        numbers.push_back(list[i].second.second);
      }
      Send(target.first,
           HomeHandoff{.map_version = {},
                       .entries = {.table = target.second,
                                   .keys = std::move(keys),
                                   .owners = std::move(owners),
                                   .move_numbers = std::move(numbers)},
                       .complete = {}},
           out);
    }
  }
  std::map<NodeId, std::vector<ShardId>> complete;
  for (const uint32_t shard : shards) complete[map_.shards[shard].home].push_back(ShardId(shard));
  for (auto& [home, list] : complete) {
    Send(home, HomeHandoff{.map_version = {}, .entries = {}, .complete = std::move(list)}, out);
  }
}

void RowNode::On(NodeId, HomeHandoff&& handoff, MonotonicTime now, RowOutputs& out) {
  if (handoff.map_version < map_.recovered_at) return;
  const DirectoryBatch& entries = handoff.entries;
  TableStore* store = Rows(entries.table);
  for (size_t i = 0; i < entries.keys.size(); ++i) {
    const TableKey key{entries.table, entries.keys[i]};
    if (shards_[ShardOf(key.key)].home != HomeState::kWaitHandoff) continue;
    // By the number of its move: a row that is here may have arrived meanwhile, or may not have left yet, because the
    // order to pass it on, which the entry comes from, is still on its way.
    bool arrived = false;
    if (store != nullptr && entries.owners[i] == self_) {
      store->VisitRows(std::span(&key.key, 1), [&](const RowView& row) {
        arrived = static_cast<int16_t>(row.move_number - entries.move_numbers[i]) >= 0;
      });
    }
    if (Mutant(RowMutation::kPresentCountsAsArrived)) arrived = store != nullptr && store->Contains(key.key);
    if (!arrived) SetEntry(key, {.owner = entries.owners[i], .move_number = entries.move_numbers[i]});
  }
  std::vector<uint32_t> ready;
  for (const ShardId shard : handoff.complete) {
    if (shard.value() < shards_.size() && shards_[shard.value()].home == HomeState::kWaitHandoff) {
      ready.push_back(shard.value());
    }
  }
  if (!ready.empty()) Activate(ready, now, out);
}

// --- rows come home

// Called when a new node should hold no rows of shards homed here: who leaves, becomes backup, or is a server.
void RowNode::PlanCallBacks() {
  call_back_.clear();
  directory_.ForEach([&](TableKey key, const DirectoryEntry& entry) {
    if (entry.owner == self_ || shards_[ShardOf(key.key)].home != HomeState::kActive) return;
    const Shard& shard = ShardAt(key.key);
    const bool is_next = shard.next_backup == entry.owner && !Mutant(RowMutation::kNextBackupKeepsRows);
    const Member* member = map_.Find(entry.owner);
    if (member == nullptr) return;
    if (is_next || member->leaving || (options_.call_back_from_servers && member->role == Role::kServer)) {
      call_back_.push_back(key);
    }
  });
}

// Long rows are called back fewer at a time, so that links and memory hold a bounded number of bytes of them.
size_t RowNode::RowsCalledBackMax(TableId table) const {
  const TableStore* store = Rows(table);
  if (store == nullptr) return options_.rows_called_back_max;
  const size_t row_bytes = size_t{store->spec().options.dim} * 3 * sizeof(float);
  return std::clamp<size_t>(options_.bytes_called_back_max / row_bytes, 1, options_.rows_called_back_max);
}

void RowNode::CallBack(MonotonicTime now, RowOutputs& out) {
  while (!call_back_.empty()) {
    const TableId table = call_back_.front().table;
    const size_t called_back_max = RowsCalledBackMax(table);
    if (directory_.called_back() >= called_back_max) return;
    std::vector<Key> keys;
    const size_t room = std::min(called_back_max - directory_.called_back(), options_.rows_per_message_max);
    while (!call_back_.empty() && call_back_.front().table == table && keys.size() < room) {
      const TableKey key = call_back_.front();
      call_back_.pop_front();
      const DirectoryEntry* entry = directory_.Find(key);
      if (entry == nullptr || entry->owner == self_ || shards_[ShardOf(key.key)].home != HomeState::kActive) continue;
      keys.push_back(key.key);
    }
    if (!keys.empty()) Move(table, keys, self_, true, now, out);
  }
}

}  // namespace attune::ps
