#include "ps/core/rows/row_arrivals.h"

#include <utility>

#include "ps/core/mutations.h"

namespace attune::ps {

void RowArrivals::On(NodeId from, Handover&& handover, MonotonicTime now, RowOutputs& out) {
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
  Arrived(handover.rows, handover.records, now, out);
}

void RowArrivals::Take(const RowBatch& rows, const Records& records, MonotonicTime now, RowOutputs& out) {
  Insert(rows, records, out);
  installs_.CopyArrived(rows.table, rows.keys.view(), 0, out);
  Arrived(rows, records, now, out);
}

void RowArrivals::Insert(const RowBatch& rows, const Records& records, RowOutputs& out) {
  TableStore& store = *tables_.Rows(rows.table);
  shards_.AddForeign(store, rows.keys.view(), node_.map(), node_.self());
  node_.Lose(RowTables::Insert(store, rows, {}), out);
  records_.Add(rows.table, rows.keys.view(), records.records, RowRecords::Held::kRow, node_.map());
}

void RowArrivals::Arrived(const RowBatch& rows, const Records& records, MonotonicTime now, RowOutputs& out) {
  for (size_t i = 0; i < rows.keys.size(); ++i) {
    const TableKey key{rows.table, rows.keys[i]};
    const uint16_t number = rows.move_numbers.empty() ? uint16_t{0} : rows.move_numbers[i];
    const RowDirectory::Entry* entry = shards_.directory().Find(key);  // it may pass through here to come again later
    if (entry != nullptr && entry->owner == node_.self() && entry->move_number == number) shards_.EraseEntry(key);
  }
  operations_.RunWaiting(rows.table, rows.keys.view(), now, out);
  for (const Settled& settled : records.settled) pulls_.Retry(settled.origin, out);
  moves_.TryOrders(rows.table, rows.keys.view(), now, out);
  moves_.CallBack(now, out);
  if (!installs_.joins().empty()) CheckJoins(out);
}

void RowArrivals::Activate(std::span<const uint32_t> shards, MonotonicTime now, RowOutputs& out) {
  shards_.Activate(shards);
  moves_.PlanCallBacks();
  operations_.RunQueued(now, out);
  moves_.CallBack(now, out);
  if (!installs_.joins().empty()) CheckJoins(out);
  out.report = true;
}

void RowArrivals::Answered(std::optional<uint64_t> withheld, RowOutputs& out) {
  if (!withheld) return;
  if (const auto ack = withheld_.Answered(*withheld)) node_.Send(ack->to, ack->ack, out);
}

void RowArrivals::ForgetRemoved() {
  withheld_.EraseIf([&](NodeId to) { return !node_.IsMember(to); });
}

void RowArrivals::CheckJoins(RowOutputs& out) {
  if (installs_.UpdateDone(moves_.rows_to_come() > 0, moves_.orders())) out.report = true;
}

}  // namespace attune::ps
