// The rows at the mark of a checkpoint (docs/protocol.md#checkpoints). Each row is in at least one snapshot of the cut,
// as it was before any push of a step that begins after it:
//   here at the mark                          in this node's snapshot
//   arrives later, sent before its sender's mark   added when it arrives; the sender says MarkDone only when it has
//   arrives later, sent after its sender's mark    in the sender's snapshot; its Handover carries that mark
// A node that owns rows only since all have marked has the mark from its map (ShardMap::marked): its rows may come back
// to a node that has marked and has not heard yet that all have.
// A row may be in two (sent by a marked node to one that is not yet): both hold the same pushes, and the reader of them
// takes the higher version. So nothing has to stand still but the workers, and rows may move at any time.
#include <algorithm>
#include <utility>

#include "ps/core/rows/row_node.h"

namespace attune::ps {
namespace {

using Held = DuplicateFilter::Held;

}  // namespace

Status RowNode::BeginSnapshot(CutId cut, MonotonicTime, RowOutputs& out) {
  EndSnapshot(false, out);
  snapshot_.mark = cut;
  snapshot_.open = true;
  snapshot_.sealed = false;
  snapshot_.first_handover = handovers_.next();
  if (node_.options().snapshots_go_home) {
    RowTables::ForEach(tables_.rows(), [&](TableId table, const TableStore& store) {
      if (store.row_count() == 0) return;
      std::vector<Key> keys;
      store.ForEachKey(HashRange{}, [&](Key key) { keys.push_back(key); });
      SendSnapshotHome(table, keys, 0, out);
    });
    return OkStatus();
  }
  Status status;
  RowTables::ForEach(tables_.rows(), [&](TableId, TableStore& store) {
    if (status.ok()) status = store.BeginSnapshot();
  });
  if (!status.ok()) {
    EndSnapshot(false, out);
    return status;
  }
  records_.filter().Copy(snapshot_.filter);
  for (const SnapshotRows& early : std::exchange(snapshot_.early, {})) {
    if (early.cut == cut) AddToSnapshot(early.rows, early.records.records);
  }
  return OkStatus();
}

bool RowNode::SnapshotSettled() const {
  return snapshot_.open && handovers_.AcknowledgedBelow(snapshot_.first_handover) && snapshot_.unanswered.empty();
}

FilterRecords RowNode::SealSnapshot() {
  snapshot_.sealed = true;
  if (snapshot_.filter.pushes.empty()) return {};
  return std::exchange(snapshot_.filter, {});
}

void RowNode::EndSnapshot(bool kept, RowOutputs& out) {
  if (!std::exchange(snapshot_.open, false)) return;
  snapshot_.filter = {};
  ReleaseWithheld(out);
  if (node_.options().snapshots_go_home) return;
  RowTables::ForEach(tables_.rows(), [&](TableId, TableStore& store) { store.EndSnapshot(kept); });
}

// Returns how many answers the HandoverAck has to wait for.
size_t RowNode::ArrivedUnmarked(const Handover& handover, uint64_t withheld, RowOutputs& out) {
  if (!snapshot_.open || snapshot_.sealed || handover.mark >= snapshot_.mark) return 0;
  if (node_.Mutant(RowMutation::kUnmarkedArrivalNotWritten)) return 0;
  if (node_.options().snapshots_go_home)
    return SendSnapshotHome(handover.rows.table, handover.rows.keys.view(), withheld, out);
  AddToSnapshot(handover.rows, handover.records.records);
  return 0;
}

// Requires that the table is installed, which it is where its rows come to.
void RowNode::AddToSnapshot(const RowBatch& rows, const std::vector<FilterRecord>& records) {
  if (rows.keys.empty()) return;
  TableStore& store = *tables_.Rows(rows.table);
  store.AddToSnapshot(RowTables::ViewsOf(store, rows, {}));
  for (const FilterRecord& record : records) {
    snapshot_.filter.pushes.push_back({.origin = record.origin.value(),
                                       .sequence = record.sequence.value(),
                                       .table = rows.table.value(),
                                       .refused = record.refused,
                                       .keys = {rows.keys[record.key_index]},
                                       .positions = {record.position}});
  }
}

// --- owners that write no files

// Returns how many messages were sent.
size_t RowNode::SendSnapshotHome(TableId table, std::span<const Key> keys, uint64_t withheld, RowOutputs& out) {
  TableStore& store = *tables_.Rows(table);
  std::map<NodeId, std::vector<Key>> by_home;
  for (const Key key : keys) by_home[node_.ShardAt(key).home].push_back(key);
  const size_t chunk = tables_.RowsPerMessage(store);
  size_t sent = 0;
  for (const auto& [home, list] : by_home) {
    for (size_t begin = 0; begin < list.size(); begin += chunk, ++sent) {
      const std::span<const Key> part = std::span(list).subspan(begin, std::min(chunk, list.size() - begin));
      SnapshotRows message{.map_version = {}, .cut = snapshot_.mark, .number = snapshot_.next_sent++};
      message.rows = tables_.Gather(store, table, part);
      records_.filter().Collect(table, message.rows.keys.view(), Held::kRow, false, message.records.records);
      snapshot_.unanswered[message.number] = withheld;
      node_.Send(home, std::move(message), out);
    }
  }
  return sent;
}

// The cut has ended, or a recovery has begun, which ends it.
void RowNode::ReleaseWithheld(RowOutputs& out) {
  for (const auto& [number, withheld] : std::exchange(snapshot_.unanswered, {})) {
    if (withheld != 0) Answered(withheld, out);
  }
}

void RowNode::On(NodeId from, SnapshotRows&& message, MonotonicTime, RowOutputs& out) {
  const SnapshotRowsAck ack{.map_version = {}, .cut = message.cut, .number = message.number};
  if (const auto why = tables_.WhyUnfit(message.rows)) return node_.Reject(from, "SnapshotRows", *why, out);
  if (message.cut == snapshot_.mark && snapshot_.open && !snapshot_.sealed && !node_.options().snapshots_go_home) {
    AddToSnapshot(message.rows, message.records.records);
  } else if (message.cut > snapshot_.mark) {
    // Bounded by what one cut has: rows of an older one will not be asked for any more.
    std::erase_if(snapshot_.early, [&](const SnapshotRows& early) { return early.cut < message.cut; });
    snapshot_.early.push_back(std::move(message));
  }
  node_.Send(from, ack, out);
}

void RowNode::On(NodeId, SnapshotRowsAck&& ack, MonotonicTime, RowOutputs& out) {
  const auto it = snapshot_.unanswered.find(ack.number);
  if (it == snapshot_.unanswered.end()) return;
  const uint64_t withheld = it->second;
  snapshot_.unanswered.erase(it);
  if (withheld != 0) Answered(withheld, out);
}

}  // namespace attune::ps
