// A node's part in a cut: the rows at the mark of a checkpoint (docs/protocol.md#checkpoints). Each row is in at least
// one snapshot of the cut, as it was before any push of a step that begins after it:
//   here at the mark                          in this node's snapshot
//   arrives later, sent before its sender's mark   added when it arrives; the sender says MarkDone only when it has
//   arrives later, sent after its sender's mark    in the sender's snapshot; its Handover carries that mark
// A node that owns rows only since all have marked has the mark from its map (ShardMap::marked): its rows may come back
// to a node that has marked and has not heard yet that all have.
// A row may be in two (sent by a marked node to one that is not yet): both hold the same pushes, and the reader of them
// takes the higher version. So nothing has to stand still but the workers, and rows may move at any time.
// Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/rows/context/row_context.h"
#include "ps/core/rows/context/row_io.h"
#include "ps/core/rows/state/open_handovers.h"
#include "ps/core/rows/state/row_records.h"
#include "ps/core/rows/state/row_tables.h"
#include "ps/store/filter_records.h"

namespace attune::ps {

class RowSnapshot {
 public:
  // Numbers under which acknowledgements of handovers wait for answers (WithheldAcks).
  using Withheld = std::vector<uint64_t>;

  // All of them outlive it.
  RowSnapshot(RowContext& node, const RowTables& tables, RowRecords& records)
      : node_(node), tables_(tables), records_(records) {}

  // The last cut that was begun, or that the map says all have marked.
  CutId mark() const { return mark_; }
  void LearnMarked(CutId marked);
  // A table that is installed now takes part.
  bool TakesTables() const { return open_ && !node_.options().snapshots_go_home; }

  // No other one is open. Every table of rows begins one within this call, and with RowOptions::snapshots_go_home all
  // rows are sent home instead. `first_handover`: the number of the next one. After an error it is not open.
  Status Begin(CutId cut, uint64_t first_handover, RowOutputs& out);
  // What this node sent before its mark has arrived.
  bool IsSettled(const OpenHandovers& handovers) const;
  // Nothing is added any more. Returns the decided pushes of the rows in the snapshot.
  FilterRecords Seal();
  // `kept`: all of it is on a disk. Returns whose answers will not come any more; nothing when none was open.
  Withheld End(bool kept);
  // A recovery has begun, which ends the cut: likewise.
  Withheld Release();

  // Rows have come: those that were sent before their sender's mark are added. Returns how many answers the
  // acknowledgement of this handover has to wait for, under the number `withheld`.
  size_t Add(const Handover& handover, uint64_t withheld, RowOutputs& out);
  // Rows of owners that write no files; acknowledged.
  void Take(NodeId from, SnapshotRows&& message, RowOutputs& out);
  // An answer to rows sent home: which acknowledgement waited for it, 0: none. Nothing when the message is unknown.
  std::optional<uint64_t> Answered(const SnapshotRowsAck& ack);

 private:
  void Add(const RowBatch& rows, const std::vector<FilterRecord>& records);
  size_t SendHome(TableId table, std::span<const Key> keys, uint64_t withheld, RowOutputs& out);

  RowContext& node_;
  const RowTables& tables_;
  RowRecords& records_;
  CutId mark_;
  bool open_ = false;
  bool sealed_ = false;
  uint64_t first_handover_ = 1;  // that was sent after the mark
  FilterRecords filter_;
  uint64_t next_sent_ = 1;
  std::map<uint64_t, uint64_t> unanswered_;  // rows sent home: by their number, what waits for the answer
  std::vector<SnapshotRows> early_;          // came before this node's mark
};

}  // namespace attune::ps
