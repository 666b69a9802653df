// The copies that a node gives to backups: of rows that a backup misses, and, while a shard gets a next backup, of all
// its rows, in pieces that are answered, with a marker when all have been sent (docs/protocol.md#planned-changes). Also
// knows when this node's part of such a join is done. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/rows/context/row_context.h"
#include "ps/core/rows/context/row_io.h"
#include "ps/core/rows/state/backup_joins.h"
#include "ps/core/rows/state/row_records.h"
#include "ps/core/rows/state/row_tables.h"
#include "ps/core/rows/state/shard_states.h"
#include "ps/core/rows/state/waiting_orders.h"

namespace attune::ps {

class RowInstalls {
 public:
  // All of them outlive it.
  RowInstalls(RowContext& node, const RowTables& tables, const ShardStates& shards, RowRecords& records)
      : node_(node), tables_(tables), shards_(shards), records_(records) {}

  // A backup misses copies of rows that are here, or begin here.
  void Answer(const InstallWanted& wanted, RowOutputs& out);

  // --- next backups

  // Those that the new map has and `old` had not: what is here is copied to them.
  void BeginJoins(const ShardMap& old, RowOutputs& out);
  // Copies at this node have become its rows, of these shards: next backups get them too.
  void CopyPromoted(std::span<const uint32_t> shards, RowOutputs& out);
  // Those that the map has no more end. Returns the Installs whose answers count no more.
  std::vector<BackupJoins::Answer> EndJoins();
  // Sends what may be sent without more answers.
  void Pump(RowOutputs& out);
  // Rows have arrived whose shards may be getting a next backup. Returns how many Installs went out for them; the
  // handover of the number `withheld` is acknowledged after their answers.
  size_t CopyArrived(TableId table, std::span<const Key> keys, uint64_t withheld, RowOutputs& out);
  // Nothing when there is no such Install to this node.
  std::optional<BackupJoins::Answer> On(NodeId from, const InstallAck& ack) {
    return joins_.Answered(ack.install, from);
  }
  // A member has sent everything of a join to this node, or, while this node leaves, every order to it.
  void On(NodeId from, const JoinMarker& marker);
  // Whether this node's part of a join is done that was not before. `rows_come_home`: some are still called back;
  // `orders` to move rows that have not come yet.
  bool UpdateDone(bool rows_come_home, const WaitingOrders& orders);
  // A node that is no member any more.
  void Forget(NodeId node) { joins_.Forget(node); }

  // --- nodes that leave

  // Every node that leaves may go when it knows that no older order is still on its way to it.
  void MarkLeaving(const ShardMap& old, RowOutputs& out);
  // While this node leaves: members that have not said so.
  size_t LeaveMarkersMissing() const;

  const BackupJoins& joins() const { return joins_; }

 private:
  void Send(TableId table, std::span<const Key> keys, NodeId to, RowOutputs& out);
  bool JoinDone(const BackupJoins::Id& id, const BackupJoins::Join& join, bool rows_come_home,
                const WaitingOrders& orders) const;

  RowContext& node_;
  const RowTables& tables_;
  const ShardStates& shards_;
  RowRecords& records_;
  BackupJoins joins_;
  std::set<NodeId> leave_markers_;  // members whose older orders have all arrived
};

}  // namespace attune::ps
