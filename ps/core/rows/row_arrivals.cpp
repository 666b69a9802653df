// Rows that arrive, and what follows: what waited for them, acknowledgements, shards that are ready.
#include <utility>

#include "ps/core/rows/row_node.h"

namespace attune::ps {

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
  Arrive(handover.rows, handover.records, now, out);
}

void RowNode::Insert(const RowBatch& rows, const Records& records, RowOutputs& out) {
  TableStore& store = *tables_.Rows(rows.table);
  shards_.AddForeign(store, rows.keys.view(), node_.map(), node_.self());
  node_.Lose(RowTables::Insert(store, rows, {}), out);
  records_.Add(rows.table, rows.keys.view(), records.records, RowRecords::Held::kRow, node_.map());
}

// Rows have been inserted with their records: what waited for them.
void RowNode::Arrive(const RowBatch& rows, const Records& records, MonotonicTime now, RowOutputs& out) {
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

// One of the answers has come, or will not come any more, that the HandoverAck of this number may wait for.
void RowNode::Answered(std::optional<uint64_t> withheld, RowOutputs& out) {
  if (!withheld) return;
  if (const auto ack = withheld_.Answered(*withheld)) node_.Send(ack->to, ack->ack, out);
}

void RowNode::On(NodeId from, const HandoverAck& ack, MonotonicTime now, RowOutputs& out) {
  const auto handover = moves_.Acknowledged(from, ack);
  if (!handover) return;
  recovery_.Learn(*handover, ack);
  recovery_.Answer(out);
  Resolve(now, out);
  CheckJoins(out);
  if (moves_.handovers().empty()) out.report = true;
}

void RowNode::CheckJoins(RowOutputs& out) {
  if (installs_.UpdateDone(moves_.rows_to_come() > 0, moves_.orders())) out.report = true;
}

// --- recoveries

void RowNode::On(NodeId from, FetchedRows&& fetched, MonotonicTime now, RowOutputs& out) {
  records_.Learn(fetched.records, node_.map());  // also from an earlier recovery: what is settled is sent once only
  if (fetched.recovered_at != node_.map().recovered_at) return;
  if (const auto why = tables_.WhyUnfit(fetched.rows)) return node_.Reject(from, "FetchedRows", *why, out);
  if (!fetched.rows.keys.empty()) {
    recovery_.Take(fetched);
    Insert(fetched.rows, fetched.records, out);
    installs_.CopyArrived(fetched.rows.table, fetched.rows.keys.view(), 0, out);
    Arrive(fetched.rows, fetched.records, now, out);
  }
  if (!fetched.last) return;
  if (fetched.all_but) {
    if (const auto shards = recovery_.EndFetchAll(from)) Activate(*shards, now, out);
    return;
  }
  for (const auto& [table, keys] : recovery_.EndFetches(from)) {
    if (Status status = tables_.Rows(table)->CreateRows(keys, RowVersion(node_.map().recoveries, 0)); !status.ok()) {
      return node_.Lose(std::move(status), out);
    }
    Arrive({.table = table, .keys = keys, .versions = {}, .move_numbers = {}, .values = {}}, {}, now, out);
  }
  if (recovery_.fetching() == 0) out.report = true;
}

void RowNode::Resolve(MonotonicTime now, RowOutputs& out) {
  const auto resolved = recovery_.Resolve(out);
  if (!resolved) return;
  installs_.CopyPromoted(resolved->promoted, out);
  Activate(resolved->active, now, out);
  if (resolved->restored.empty()) return;
  restore_.Begin(resolved->restored, out);
  if (restore_.complete()) Activate(restore_.End(out), now, out);
}

void RowNode::Restore(const RestoreOrder& order, const TableStore* rows, const FilterRecords& filter, MonotonicTime now,
                      RowOutputs& out) {
  if (!restore_.Take(order, rows, filter, out) || !restore_.complete()) return;
  Activate(restore_.End(out), now, out);
}

void RowNode::Activate(std::span<const uint32_t> shards, MonotonicTime now, RowOutputs& out) {
  shards_.Activate(shards);
  moves_.PlanCallBacks();
  Requeue(waiting_.TakeQueue(), now, out);
  moves_.CallBack(now, out);
  if (!installs_.joins().empty()) CheckJoins(out);
  out.report = true;
}

// --- snapshots

Status RowNode::BeginSnapshot(CutId cut, MonotonicTime, RowOutputs& out) {
  EndSnapshot(false, out);
  return snapshot_.Begin(cut, moves_.handovers().next(), out);
}

void RowNode::EndSnapshot(bool kept, RowOutputs& out) {
  for (const uint64_t withheld : snapshot_.End(kept)) Answered(withheld, out);
}

}  // namespace attune::ps
