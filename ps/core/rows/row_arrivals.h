// Rows that arrive at a node, by a handover or by a recovery, and what follows:
// operations, pulls and orders that waited for them, copies of them for next
// backups and snapshots, and the acknowledgement, which is withheld until those
// copies are safe. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/time_source.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/rows/context/row_context.h"
#include "ps/core/rows/context/row_io.h"
#include "ps/core/rows/row_installs.h"
#include "ps/core/rows/row_moves.h"
#include "ps/core/rows/row_operations.h"
#include "ps/core/rows/row_pulls.h"
#include "ps/core/rows/row_snapshot.h"
#include "ps/core/rows/state/open_handovers.h"
#include "ps/core/rows/state/row_records.h"
#include "ps/core/rows/state/row_tables.h"
#include "ps/core/rows/state/shard_states.h"

namespace attune::ps {

class RowArrivals {
 public:
  // All of them outlive it.
  RowArrivals(RowContext& node, RowTables& tables, ShardStates& shards, RowRecords& records, RowPulls& pulls,
              RowSnapshot& snapshot, RowMoves& moves, RowInstalls& installs, RowOperations& operations)
      : node_(node),
        tables_(tables),
        shards_(shards),
        records_(records),
        pulls_(pulls),
        snapshot_(snapshot),
        moves_(moves),
        installs_(installs),
        operations_(operations) {}

  // Another owner hands rows over.
  void On(NodeId from, Handover&& handover, MonotonicTime now, RowOutputs& out);
  // Rows of a recovery, which fit their table.
  void Take(const RowBatch& rows, const Records& records, MonotonicTime now, RowOutputs& out);
  // These rows are in their table, with their records: what waited for them.
  void Arrived(const RowBatch& rows, const Records& records, MonotonicTime now, RowOutputs& out);
  // Every row of these shards, which are homed here, has arrived or has a known
  // owner: their home is ready.
  void Activate(std::span<const uint32_t> shards, MonotonicTime now, RowOutputs& out);

  // An answer has come, or will not come any more, that the acknowledgement of
  // this number may wait for.
  void Answered(std::optional<uint64_t> withheld, RowOutputs& out);
  // Nodes that are no members any more get no acknowledgements.
  void ForgetRemoved();
  size_t withheld() const { return withheld_.size(); }

  // Whether a next backup has become complete is to be looked at again; it is
  // reported.
  void CheckJoins(RowOutputs& out);

 private:
  void Insert(const RowBatch& rows, const Records& records, RowOutputs& out);

  RowContext& node_;
  RowTables& tables_;
  ShardStates& shards_;
  RowRecords& records_;
  RowPulls& pulls_;
  RowSnapshot& snapshot_;
  RowMoves& moves_;
  RowInstalls& installs_;
  RowOperations& operations_;
  WithheldAcks withheld_;
};

}  // namespace attune::ps
