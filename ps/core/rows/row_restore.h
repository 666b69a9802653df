// Rows that a crash has left no copy of (docs/protocol.md#a-crash): their homes take them from the last checkpoint, in
// the era of the recovery, so that no reader sees a version fall. Rows alive anywhere else stay as they are: what is
// held, or reported by its owner, is newer than the checkpoint. Operations on these shards wait at the home meanwhile.
// Externally synchronized.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/rows/context/row_context.h"
#include "ps/core/rows/context/row_io.h"
#include "ps/core/rows/row_installs.h"
#include "ps/core/rows/state/open_restore.h"
#include "ps/core/rows/state/row_records.h"
#include "ps/core/rows/state/row_tables.h"
#include "ps/core/rows/state/shard_states.h"
#include "ps/store/filter_records.h"
#include "ps/store/table_store.h"

namespace attune::ps {

class RowRestore {
 public:
  // All of them outlive it.
  RowRestore(RowContext& node, const RowTables& tables, ShardStates& shards, RowRecords& records, RowInstalls& installs)
      : node_(node), tables_(tables), shards_(shards), records_(records), installs_(installs) {}

  // The checkpoint that rows come from. Without one they all begin again.
  void SetPoint(RestorePoint point) { point_ = std::move(point); }
  const RestorePoint& point() const { return point_; }

  // A row is known to have been there, and no member has it.
  void AddLost(TableKey row) { open_.AddLost(row); }
  // By shard: whether there are such rows.
  std::vector<bool> ShardsWithLostRows() const;
  // These shards wait until the rows of all tables have come.
  void Begin(const std::vector<uint32_t>& shards, RowOutputs& out);
  // What a RestoreOrder asked for, see RowNode::Restore. False: it was not waited for.
  bool Take(const RestoreOrder& order, const TableStore* rows, const FilterRecords& filter, RowOutputs& out);
  bool complete() const { return open_.complete(); }
  // Requires that it is complete. Returns the shards that waited.
  std::vector<uint32_t> End(RowOutputs& out);
  // Another recovery has begun.
  void Forget() { open_.Forget(); }

  const OpenRestore::Totals& totals() const { return open_.totals(); }

 private:
  void Insert(TableId table, const std::vector<RowView>& rows, RowOutputs& out);
  void Learn(TableId table, const FilterRecords& filter, const KeyMap<uint8_t>& taken);

  RowContext& node_;
  const RowTables& tables_;
  ShardStates& shards_;
  RowRecords& records_;
  RowInstalls& installs_;
  RestorePoint point_;
  OpenRestore open_;
};

}  // namespace attune::ps
