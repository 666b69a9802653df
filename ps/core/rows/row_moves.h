// Rows change their owner (docs/protocol.md#one-relocation): the home decides and is obeyed in the order of move
// numbers; the row travels with its state and the records of the pushes that it contains. When a shard changes its
// home, the next one gets the directory. A home also calls rows back. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time_source.h"
#include "ps/core/keys/key_index.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/rows/context/row_context.h"
#include "ps/core/rows/context/row_io.h"
#include "ps/core/rows/replicas/row_replicas.h"
#include "ps/core/rows/row_pulls.h"
#include "ps/core/rows/row_snapshot.h"
#include "ps/core/rows/state/call_backs.h"
#include "ps/core/rows/state/open_handovers.h"
#include "ps/core/rows/state/row_records.h"
#include "ps/core/rows/state/row_tables.h"
#include "ps/core/rows/state/shard_states.h"
#include "ps/core/rows/state/waiting_orders.h"

namespace attune::ps {

class RowMoves {
 public:
  // All of them outlive it. Pulls that wait for pushes to rows that leave follow them, and workers lose their copies of
  // those; handovers carry the mark of the snapshot.
  RowMoves(RowContext& node, RowTables& tables, ShardStates& shards, RowRecords& records, RowPulls& pulls,
           const RowSnapshot& snapshot, RowReplicas& replicas)
      : node_(node),
        tables_(tables),
        shards_(shards),
        records_(records),
        pulls_(pulls),
        snapshot_(snapshot),
        replicas_(replicas) {}

  // --- the home. All keys are homed here and the home is ready: their rows shall belong to `to`.
  void Move(TableId table, std::span<const Key> keys, NodeId to, MonotonicTime now, RowOutputs& out);

  // --- the owner
  void On(NodeId from, const MoveOrder& order, MonotonicTime now, RowOutputs& out);
  // Rows have arrived: orders that came before them.
  void TryOrders(TableId table, std::span<const Key> keys, MonotonicTime now, RowOutputs& out);
  // Orders from before a recovery.
  void ForgetOrders() { orders_.Clear(); }
  // Returns the handover whose rows have arrived; nothing when there is no such one to this node.
  std::optional<OpenHandover> Acknowledged(NodeId from, const HandoverAck& ack);
  // Rows sent to a node that has failed come back by the recovery; one that has left has passed them on before.
  void EndLostHandovers();
  const WaitingOrders& orders() const { return orders_; }
  const OpenHandovers& handovers() const { return handovers_; }

  // --- the home changes
  // These shards have another home now, which learns who owns what. Without `announce` (a recovery asks all members
  // anyway) only what this node remembers changes.
  void SendHandoffs(const std::vector<uint32_t>& shards, bool announce, RowOutputs& out);
  // Returns the shards that are complete now.
  std::vector<uint32_t> Take(const HomeHandoff& handoff);

  // --- rows come home
  // After every change of the map, or of which homes are ready.
  void PlanCallBacks();
  // As many as may be on their way at one time.
  void CallBack(MonotonicTime now, RowOutputs& out);
  void ForgetCallBacks() { call_backs_.Clear(); }
  // Called back and not here yet, or still to be called.
  size_t rows_to_come() const { return call_backs_.planned() + shards_.directory().called_back(); }

 private:
  void OrderHere(TableId table, std::span<const Key> keys, std::span<const uint16_t> move_numbers, NodeId to,
                 MonotonicTime now, RowOutputs& out);
  void HandOver(TableId table, std::span<const Key> keys, std::span<const uint16_t> move_numbers, NodeId to,
                MonotonicTime now, RowOutputs& out);
  void KeepCopies(TableId table, std::span<const Key> leaving, RowOutputs& out);
  void End(const OpenHandover& handover);
  size_t RowsCalledBackMax(TableId table) const;

  RowContext& node_;
  RowTables& tables_;
  ShardStates& shards_;
  RowRecords& records_;
  RowPulls& pulls_;
  const RowSnapshot& snapshot_;
  RowReplicas& replicas_;
  WaitingOrders orders_;
  OpenHandovers handovers_;
  CallBacks call_backs_;
  KeySet unique_;  // scratch
};

}  // namespace attune::ps
