#include "ps/core/rows/row_snapshot.h"

#include <algorithm>
#include <utility>

namespace attune::ps {

void RowSnapshot::LearnMarked(CutId marked) {
  if (!open_) mark_ = std::max(mark_, marked);
}

Status RowSnapshot::Begin(CutId cut, uint64_t first_handover, RowOutputs& out) {
  mark_ = cut;
  open_ = true;
  sealed_ = false;
  first_handover_ = first_handover;
  if (node_.options().snapshots_go_home) {
    RowTables::ForEach(tables_.rows(), [&](TableId table, const TableStore& store) {
      if (store.row_count() == 0) return;
      std::vector<Key> keys;
      store.ForEachKey(HashRange{}, [&](Key key) { keys.push_back(key); });
      SendHome(table, keys, 0, out);
    });
    return OkStatus();
  }
  Status status;
  RowTables::ForEach(tables_.rows(), [&](TableId, TableStore& store) {
    if (status.ok()) status = store.BeginSnapshot();
  });
  if (!status.ok()) {
    End(false);
    return status;
  }
  records_.filter().Copy(filter_);
  for (const SnapshotRows& early : std::exchange(early_, {})) {
    if (early.cut == cut) Add(early.rows, early.records.records);
  }
  return OkStatus();
}

bool RowSnapshot::IsSettled(const OpenHandovers& handovers) const {
  return open_ && handovers.AcknowledgedBelow(first_handover_) && unanswered_.empty();
}

FilterRecords RowSnapshot::Seal() {
  sealed_ = true;
  if (filter_.pushes.empty()) return {};
  return std::exchange(filter_, {});
}

RowSnapshot::Withheld RowSnapshot::End(bool kept) {
  if (!std::exchange(open_, false)) return {};
  filter_ = {};
  if (!node_.options().snapshots_go_home) {
    RowTables::ForEach(tables_.rows(), [&](TableId, TableStore& store) { store.EndSnapshot(kept); });
  }
  return Release();
}

RowSnapshot::Withheld RowSnapshot::Release() {
  Withheld released;
  for (const auto& [number, withheld] : std::exchange(unanswered_, {})) {
    if (withheld != 0) released.push_back(withheld);
  }
  return released;
}

size_t RowSnapshot::Add(const Handover& handover, uint64_t withheld, RowOutputs& out) {
  if (!open_ || sealed_ || handover.mark >= mark_) return 0;
  if (node_.Mutant(RowMutation::kUnmarkedArrivalNotWritten)) return 0;
  if (node_.options().snapshots_go_home) return SendHome(handover.rows.table, handover.rows.keys.view(), withheld, out);
  Add(handover.rows, handover.records.records);
  return 0;
}

// Requires that the table is installed, which it is where its rows come to.
void RowSnapshot::Add(const RowBatch& rows, const std::vector<FilterRecord>& records) {
  if (rows.keys.empty()) return;
  TableStore& store = *tables_.Rows(rows.table);
  store.AddToSnapshot(RowTables::ViewsOf(store, rows, {}));
  for (const FilterRecord& record : records) {
    filter_.pushes.push_back({.origin = record.origin.value(),
                              .sequence = record.sequence.value(),
                              .table = rows.table.value(),
                              .refused = record.refused,
                              .keys = {rows.keys[record.key_index]},
                              .positions = {record.position}});
  }
}

// --- owners that write no files

// Returns how many messages were sent.
size_t RowSnapshot::SendHome(TableId table, std::span<const Key> keys, uint64_t withheld, RowOutputs& out) {
  TableStore& store = *tables_.Rows(table);
  std::map<NodeId, std::vector<Key>> by_home;
  for (const Key key : keys) by_home[node_.ShardAt(key).home].push_back(key);
  const size_t chunk = tables_.RowsPerMessage(store);
  size_t sent = 0;
  for (const auto& [home, list] : by_home) {
    for (size_t begin = 0; begin < list.size(); begin += chunk, ++sent) {
      const std::span<const Key> part = std::span(list).subspan(begin, std::min(chunk, list.size() - begin));
      SnapshotRows message{.map_version = {}, .cut = mark_, .number = next_sent_++};
      message.rows = tables_.Gather(store, table, part);
      records_.filter().Collect(table, message.rows.keys.view(), RowRecords::Held::kRow, false,
                                message.records.records);
      unanswered_[message.number] = withheld;
      node_.Send(home, std::move(message), out);
    }
  }
  return sent;
}

void RowSnapshot::Take(NodeId from, SnapshotRows&& message, RowOutputs& out) {
  const SnapshotRowsAck ack{.map_version = {}, .cut = message.cut, .number = message.number};
  if (const auto why = tables_.WhyUnfit(message.rows)) return node_.Reject(from, "SnapshotRows", *why, out);
  if (message.cut == mark_ && open_ && !sealed_ && !node_.options().snapshots_go_home) {
    Add(message.rows, message.records.records);
  } else if (message.cut > mark_) {
    // Bounded by what one cut has: rows of an older one will not be asked for any more.
    std::erase_if(early_, [&](const SnapshotRows& early) { return early.cut < message.cut; });
    early_.push_back(std::move(message));
  }
  node_.Send(from, ack, out);
}

std::optional<uint64_t> RowSnapshot::Answered(const SnapshotRowsAck& ack) {
  const auto it = unanswered_.find(ack.number);
  if (it == unanswered_.end()) return std::nullopt;
  const uint64_t withheld = it->second;
  unanswered_.erase(it);
  return withheld;
}

}  // namespace attune::ps
