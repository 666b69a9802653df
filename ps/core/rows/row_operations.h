// Operations at any node (pushes, pulls, requests for copies, Localize): done
// here when their rows are here, or they wait for a row that is on its way,
// queue at a home that is not ready, or are sent on. Externally synchronized.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/time_source.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/rows/context/row_context.h"
#include "ps/core/rows/context/row_io.h"
#include "ps/core/rows/replicas/row_replicas.h"
#include "ps/core/rows/row_installs.h"
#include "ps/core/rows/row_moves.h"
#include "ps/core/rows/row_pulls.h"
#include "ps/core/rows/row_pushes.h"
#include "ps/core/rows/state/row_records.h"
#include "ps/core/rows/state/row_tables.h"
#include "ps/core/rows/state/served_keys.h"
#include "ps/core/rows/state/shard_states.h"
#include "ps/core/rows/state/waiting_operations.h"

namespace attune::ps {

class RowOperations {
 public:
  using Queued = WaitingOperations::Queued;

  // All of them outlive it.
  RowOperations(RowContext& node, RowTables& tables, ShardStates& shards, RowRecords& records, RowPulls& pulls,
                RowMoves& moves, RowInstalls& installs, RowReplicas& replicas)
      : node_(node),
        tables_(tables),
        shards_(shards),
        records_(records),
        pulls_(pulls),
        moves_(moves),
        installs_(installs),
        pushes_(node, tables, shards, records, replicas) {}

  // `from`: the peer, or this node for operations that begin here.
  void On(NodeId from, Push&& push, MonotonicTime now, RowOutputs& out);
  void On(NodeId from, Pull&& pull, MonotonicTime now, RowOutputs& out);
  void On(NodeId from, InstallWanted&& wanted, MonotonicTime now, RowOutputs& out);
  void On(NodeId from, Localize&& localize, MonotonicTime now, RowOutputs& out);
  // A backup has not taken the copy of a push that was applied here, or where
  // its row has gone.
  void On(ReplicateRefused&& refused, MonotonicTime now, RowOutputs& out);
  // All pushes of `origin` up to this one are settled: pulls may have waited
  // for them.
  void LearnSettled(NodeId origin, SequenceNumber acked_below, RowOutputs& out);

  // Rows have arrived: what waited for them, in its order.
  void RunWaiting(TableId table, std::span<const Key> keys, MonotonicTime now, RowOutputs& out);
  // Homes have become ready: what has queued for them looks for its way again.
  void RunQueued(MonotonicTime now, RowOutputs& out) { Requeue(waiting_.TakeQueue(), now, out); }

  // A map has been adopted. What has to look for its way again, see Requeue:
  // after a recovery everything that waits, for rows may lie elsewhere; when
  // homes were given away, what has queued for them, and pulls of their rows.
  std::vector<Queued> TakeAffected(bool recovery, std::span<const uint32_t> given_away);
  // What waited under an older map looks for its way again; whatever sent it is
  // not trusted any more.
  void Requeue(std::vector<Queued> operations, MonotonicTime now, RowOutputs& out);

  // What the home shards have been asked for since this was taken last.
  std::vector<ShardKeys> TakeServedKeys() { return served_.Take(); }
  const WaitingOperations& waiting() const { return waiting_; }

 private:
  template <typename Operation>
  void Dispatch(NodeId from, Operation&& operation, MonotonicTime now, RowOutputs& out);
  template <typename Operation>
  void Here(Operation&& operation, MonotonicTime now, RowOutputs& out);

  RowContext& node_;
  RowTables& tables_;
  ShardStates& shards_;
  RowRecords& records_;
  RowPulls& pulls_;
  RowMoves& moves_;
  RowInstalls& installs_;
  RowPushes pushes_;
  WaitingOperations waiting_;
  ServedKeys served_;
};

}  // namespace attune::ps
