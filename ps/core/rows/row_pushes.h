// Pushes of rows that are here: each key of a push is applied once, whatever copies of the message come in whatever
// pieces (docs/protocol.md#one-push). Where a backup keeps copies, it acknowledges; without one the owner does.
// Externally synchronized.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "base/status.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/rows/context/row_context.h"
#include "ps/core/rows/context/row_io.h"
#include "ps/core/rows/replicas/row_replicas.h"
#include "ps/core/rows/state/row_records.h"
#include "ps/core/rows/state/row_tables.h"
#include "ps/core/rows/state/shard_states.h"

namespace attune::ps {

class RowPushes {
 public:
  // All of them outlive it.
  RowPushes(RowContext& node, RowTables& tables, const ShardStates& shards, RowRecords& records, RowReplicas& replicas)
      : node_(node), tables_(tables), shards_(shards), records_(records), replicas_(replicas) {}

  // Before it is known where the rows are. False: the push is settled already, or is refused now.
  bool Admit(const Push& push, RowOutputs& out);
  // All rows are here, or begin here. Returns whether keys were decided, for which pulls may wait.
  bool Apply(Push&& push, RowOutputs& out);

 private:
  Status Check(const Push& push) const;
  void Refuse(const Push& push, Status status, RowOutputs& out);
  void ApplyNew(const Push& push, RowOutputs& out);
  void Duplicate(const Push& push, RowOutputs& out);
  void AcknowledgeOrReplicate(const Push& push, std::span<const RowVersion> versions, bool probe, RowOutputs& out);
  NodeId GuardOf(const Shard& shard) const;

  RowContext& node_;
  RowTables& tables_;
  const ShardStates& shards_;
  RowRecords& records_;
  RowReplicas& replicas_;             // learns which rows have changed
  std::vector<RowVersion> versions_;  // scratch
#ifdef ATTUNE_DELIBERATE_MISTAKES
  void AcknowledgeThenApply(Push&& push, RowOutputs& out);
  std::deque<Push> acknowledged_early_;
#endif
};

}  // namespace attune::ps
