// A node's part in the checkpoints of its job (docs/protocol.md#checkpoints): at the coordinator's mark all tables
// begin a snapshot, within one step; the shell writes it when every node has done so; training continues meanwhile.
// Embedded in the cores of nodes that hold rows. Externally synchronized.
//
//   Mark            snapshots begin; MarkDone when rows that were handed over before have arrived
//   WriteSnapshot   the shell is asked to write; SnapshotDone when it has
//   CutEnded        what is still in progress is called off
//
// What checkers may demand when the coordinator commits a cut (CheckpointCommit), taking of each key the highest
// version in all snapshots of it:
//   BSP, SSP   the row holds every push of steps below CutRecord::clock and none of others; the items recorded as done
//              (ranges, and open leases up to their position) are exactly those whose pushes are in the rows, but for
//              items of lost workers, which are counted as reprocessed
//   Async      every item recorded as done is in the rows
//   always     a row with an acknowledged push from before the first Mark is in some snapshot; at rest no store has a
//              snapshot in progress; a failed cut leaves workers free to continue
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/rows/row_node.h"
#include "ps/store/filter_records.h"

namespace attune::ps {

// Write the snapshot that every table's store has begun; answer with SnapshotWritten. The stores are stepped on
// meanwhile, so each piece of a snapshot is taken between two steps. The core ends the snapshots.
struct SnapshotOrder {
  CutId cut;
  std::string directory;
  uint64_t checkpoint = 0;    // the number its files carry
  uint32_t part = 0;          // names the files of this node
  bool changed_only = false;  // rows that have not changed since the last snapshot are in an earlier file
  FilterRecords filter;
};
// The shell's answer, whether or not it was called off.
struct SnapshotWritten {
  CutId cut;
  Status status;
  std::vector<CutFile> files;
};

class CutPart {
 public:
  struct Outputs {
    std::vector<Message> to_coordinator;
    std::optional<SnapshotOrder> write;
    bool call_off = false;  // the coordinator no longer wants what is being written
    RowOutputs rows;
  };

  // `part` names this node's files; a node without one writes none (RowOptions::snapshots_go_home).
  explicit CutPart(std::optional<uint32_t> part) : part_(part) {}

  void On(Mark mark, RowNode& rows, MonotonicTime now, Outputs& out);
  void On(const WriteSnapshot& message, RowNode& rows, Outputs& out);
  void On(const CutEnded& message, RowNode& rows, Outputs& out);
  void On(SnapshotWritten written, RowNode& rows, MonotonicTime now, Outputs& out);
  // After every step of the rows.
  void GoOn(const RowNode& rows, Outputs& out);
  bool waits() const { return cut_ && cut_->phase == Phase::kMarked; }

 private:
  // kMarked: rows sent before the mark are still on their way. kEnded: written, failed, or called off before writing.
  enum class Phase : uint8_t { kMarked, kSettled, kWriting, kEnded };
  struct Cut {
    Mark mark;
    Phase phase = Phase::kMarked;
    bool called_off = false;
    SnapshotDone done;
  };
  void Begin(Mark mark, RowNode& rows, MonotonicTime now, Outputs& out);
  void End(Status status, std::vector<CutFile> files, RowNode& rows, Outputs& out);

  const std::optional<uint32_t> part_;
  std::optional<Cut> cut_;         // the last one
  std::optional<Mark> next_mark_;  // came while one that was called off is still being written
  struct {
    std::string directory;
    uint64_t checkpoint = 0;
  } last_written_;  // what has changed since is known; 0: nothing is
};

}  // namespace attune::ps
