// Rows that arrive, and what follows: what waited for them, acknowledgements, shards that are ready.
#include <utility>

#include "ps/core/rows/row_node.h"
#include "ps/core/rows/state/parts.h"

namespace attune::ps {

void RowNode::On(NodeId from, Localize&& localize, MonotonicTime now, RowOutputs& out) {
  if (localize.keys.empty() || tables_.Rows(localize.table) == nullptr) return;
  Groups<Place> groups;
  for (uint32_t i = 0; i < localize.keys.size(); ++i) {
    const uint32_t shard = node_.ShardOf(localize.keys[i]);
    const NodeId home = node_.map().shards[shard].home;
    using enum Place::What;
    if (node_.Mutant(RowMutation::kOldHomeServesLocalize) && home != node_.self() &&
        shards_.directory().Contains({localize.table, localize.keys[i]})) {
      groups.Add({kHere, {}, false}, i);
    } else if (home != node_.self()) {
      groups.Add({kSend, home, false}, i);
    } else {
      groups.Add({shards_.IsActive(shard) ? kHere : kQueue, {}, false}, i);
    }
  }
  for (const auto& [place, places] : groups) {
    const Slice<Key> keys = PartOf(localize.keys, places);
    if (place.what == Place::What::kHere) {
      moves_.Move(localize.table, keys.view(), localize.to, false, now, out);
      continue;
    }
    Localize part{.map_version = {}, .table = localize.table, .to = localize.to, .keys = keys};
    if (place.what == Place::What::kSend) {
      node_.Send(place.to, std::move(part), out);
    } else {
      waiting_.Queue({.from = from, .message = std::move(part)});
    }
  }
}

void RowNode::On(NodeId from, MoveOrder&& order, MonotonicTime now, RowOutputs& out) {
  moves_.On(from, order, now, out);
}

void RowNode::On(NodeId from, Handover&& handover, MonotonicTime now, RowOutputs& out) {
  if (const auto why = tables_.WhyUnfit(handover.rows)) return node_.Reject(from, "Handover", *why, out);
  const Slice<Key> keys = handover.rows.keys;
  const TableId table = handover.rows.table;
  node_.counters().rows_received += keys.size();
  HandoverAck ack{.map_version = {}, .handover = handover.handover, .arrived_at = node_.map().version};
  // Rows first: their installs read them. Nothing else leaves before the installs.
  records_.Learn(handover.records, node_.map());
  Insert(handover.rows, handover.records, out);
  out.arrived.push_back({.table = table, .keys = keys});
  const uint64_t number = withheld_.Reserve();
  size_t awaited = 0;
  if (!node_.Mutant(RowMutation::kArrivalDuringJoinNotInstalled)) {
    awaited += installs_.CopyArrived(table, keys.view(), number, out);
  }
  awaited += snapshot_.Add(handover, number, out);
  if (awaited == 0) {
    node_.Send(from, ack, out);
  } else {
    withheld_.Add(number, {.to = from, .ack = ack}, awaited);
  }
  Arrive(std::move(handover.rows), handover.records, now, out);
}

void RowNode::Insert(const RowBatch& rows, const Records& records, RowOutputs& out) {
  TableStore& store = *tables_.Rows(rows.table);
  shards_.AddForeign(store, rows.keys.view(), node_.map(), node_.self());
  node_.Lose(RowTables::Insert(store, rows, {}), out);
  records_.Add(rows.table, rows.keys.view(), records.records, RowRecords::Held::kRow, node_.map());
}

// Rows have been inserted with their records: what waited for them.
void RowNode::Arrive(RowBatch rows, const Records& records, MonotonicTime now, RowOutputs& out) {
  for (size_t i = 0; i < rows.keys.size(); ++i) {
    const TableKey key{rows.table, rows.keys[i]};
    const uint16_t number = rows.move_numbers.empty() ? uint16_t{0} : rows.move_numbers[i];
    const RowDirectory::Entry* entry = shards_.directory().Find(key);  // it may pass through here to come again later
    if (entry != nullptr && entry->owner == node_.self() && entry->move_number == number) shards_.EraseEntry(key);
  }
  RunWaiting(rows.table, rows.keys.view(), now, out);
  for (const Settled& settled : records.settled) pulls_.Retry(settled.origin, out);
  moves_.TryOrders(rows.table, rows.keys.view(), now, out);
  moves_.CallBack(now, out);
  if (!installs_.joins().empty()) CheckJoins(out);
}

void RowNode::On(NodeId from, HandoverAck&& ack, MonotonicTime now, RowOutputs& out) {
  const std::optional<OpenHandover> acknowledged = moves_.Acknowledged(from, ack);
  if (!acknowledged) return;
  const OpenHandover& handover = *acknowledged;
  const MapVersion arrived_at = node_.Mutant(RowMutation::kHandoverAckDatedWhenSent) ? ack.map_version : ack.arrived_at;
  if (node_.map().recovered_at > MapVersion() && arrived_at >= node_.map().recovered_at &&
      handover.sent_under < node_.map().recovered_at) {
    for (size_t i = 0; i < handover.keys.size(); ++i) {
      claims_.push_back(
          {.key = {handover.table, handover.keys[i]}, .owner = from, .move_number = handover.move_numbers[i]});
    }
  }
  CheckReports(now, out);
  Resolve(now, out);
  CheckJoins(out);
  if (moves_.handovers().empty()) out.report = true;
}

void RowNode::On(NodeId, HomeHandoff&& handoff, MonotonicTime now, RowOutputs& out) {
  if (const auto complete = moves_.Take(handoff); !complete.empty()) Activate(complete, now, out);
}

}  // namespace attune::ps
