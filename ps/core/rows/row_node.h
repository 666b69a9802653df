// The rows of one node: which it owns, which it holds copies of, which it knows the owner of, and what it does when an
// operation, a row, a copy or a new map arrives. A state machine without sockets, threads or clock; embedded in servers
// and in workers that fetch rows. Protocol: docs/protocol.md.
//
// Each mechanism is a class of its own. RowNode finds out where a message goes, and in which order the parts act when
// a map or a row has come:
//   row_inbox               which messages are taken now, and which wait for a newer map
//   row_operations          where an operation is done, and what waits for a row or for a home
//   row_pushes, row_pulls   operations on rows that are here
//   row_arrivals            rows that arrive here, and what waited for them
//   row_moves               Localize, MoveOrder, Handover; homes change; rows called back home
//   row_replicas            copies of its rows at workers: Round
//   row_copies              copies kept for others: Replicate, Install
//   row_installs            copies given to others: a next backup becomes complete
//   row_recovery            after a failure: who owns what
//   row_restore             rows that are lost without a copy come from a checkpoint
//   row_snapshot            the rows at the mark of a checkpoint
//   state/                  what they remember
//
// Messages of one peer must come in order and once (ps/core/link/link.h). Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/rows/context/row_context.h"
#include "ps/core/rows/context/row_inbox.h"
#include "ps/core/rows/context/row_io.h"
#include "ps/core/rows/replicas/row_replicas.h"
#include "ps/core/rows/row_arrivals.h"
#include "ps/core/rows/row_copies.h"
#include "ps/core/rows/row_installs.h"
#include "ps/core/rows/row_moves.h"
#include "ps/core/rows/row_operations.h"
#include "ps/core/rows/row_pulls.h"
#include "ps/core/rows/row_recovery.h"
#include "ps/core/rows/row_restore.h"
#include "ps/core/rows/row_snapshot.h"
#include "ps/core/rows/state/duplicate_filter.h"
#include "ps/core/rows/state/row_records.h"
#include "ps/core/rows/state/row_tables.h"
#include "ps/core/rows/state/shard_states.h"
#include "ps/store/filter_records.h"
#include "ps/store/table_store.h"

namespace attune::ps {

class RowNode {
 public:
  explicit RowNode(RowOptions options) : node_(std::move(options)) {}

  // Before anything else.
  void SetSelf(NodeId self) { node_.SetSelf(self); }
  NodeId self() const { return node_.self(); }

  // Again with the same table changes nothing. `loaded`: what a checkpoint has of the rows of this node's shards, and
  // of the copies that it keeps for others. All servers take theirs before anybody may push to the table, so nothing of
  // it has to be copied between them.
  Status InstallTable(TableId table, const TableSpec& spec, LoadedTable loaded = {}) {
    return tables_.Install(table, spec, std::move(loaded), snapshot_.TakesTables());
  }
  // The map must be newer than the current one, valid, and contain this node.
  void AdoptMap(ShardMap map, MonotonicTime now, RowOutputs& out);
  // `from`: the peer, or self() for operations that begin here.
  void Receive(NodeId from, Message message, MonotonicTime now, RowOutputs& out);
  // All pushes of `origin` up to this one are settled. What a message would say, without one.
  void LearnSettled(NodeId origin, SequenceNumber acked_below, RowOutputs& out) {
    operations_.LearnSettled(origin, acked_below, out);
  }
  // Drops pulls whose time is over.
  void OnTimer(MonotonicTime now) { pulls_.Expire(now); }
  MonotonicTime WakeAt() const { return pulls_.next_deadline(); }

  const ShardMap& map() const { return node_.map(); }
  const RowCounters& counters() const { return node_.counters(); }
  RowsReport Report() const;
  // What its home shards have been asked for since this was taken last.
  std::vector<ShardKeys> TakeServedKeys() { return operations_.TakeServedKeys(); }
  size_t parked() const { return pulls_.size(); }
  // The row is here: reading and writing it needs no message. False for every row of a table not installed.
  bool OwnsNow(TableId table, Key key) const;
  // What it has of each shard.
  const ShardStates& shards() const { return shards_; }
  // What workers have announced, or have copies of.
  const RowReplicas& replicas() const { return replicas_; }
  // What has come from others and waits for a newer map.
  const RowInbox& inbox() const { return inbox_; }

  // --- rows lost without a copy (docs/protocol.md#a-crash)

  // They come from this checkpoint from now on.
  void SetRestorePoint(RestorePoint point) { restore_.SetPoint(std::move(point)); }
  const RestorePoint& restore_point() const { return restore_.point(); }
  // What a RestoreOrder asked for. `rows` null: the checkpoint has no such table, or cannot be read. Rows held or on
  // their way somewhere are newer and left as they are; the others begin where the checkpoint has them, in the era of
  // the recovery, and `filter` says which pushes they contain.
  void Restore(const RestoreOrder& order, const TableStore* rows, const FilterRecords& filter, MonotonicTime now,
               RowOutputs& out);

  // --- snapshots (docs/protocol.md#checkpoints). Every table of rows begins one within this call: no push lies between
  // two of them. Rows that arrive later and were handed over before their sender's mark are added. Cut numbers rise.
  // With RowOptions::snapshots_go_home nothing is begun; the rows as they are now go to the snapshots of their homes.
  Status BeginSnapshot(CutId cut, MonotonicTime now, RowOutputs& out);
  // What this node sent before its mark has arrived: from its side nothing is missing in any snapshot.
  bool SnapshotSettled() const { return snapshot_.IsSettled(moves_.handovers()); }
  // All nodes have settled: nothing is added any more. Returns the decided pushes of the rows in the snapshot.
  FilterRecords SealSnapshot() { return snapshot_.Seal(); }
  // `kept`: all of it is on a disk; the next snapshot then knows what has changed.
  void EndSnapshot(bool kept, RowOutputs& out);

  // By TableId - 1; null where a table is not installed here.
  const RowTables::Stores& tables() const { return tables_.rows(); }
  const RowTables::Stores& copies() const { return tables_.copies(); }

  // For checkers: what must be empty at rest ("" when it is).
  std::string WhatWaits() const;
  NodeId DirectoryOwner(TableId table, Key key) const;  // 0: not its home, or the home is not ready
  const DuplicateFilter& filter() const { return records_.filter(); }

 private:
  void Handle(NodeId from, Message&& message, MonotonicTime now, RowOutputs& out);
  // What this node has sent to itself.
  void HandleOwn(MonotonicTime now, RowOutputs& out);
  void ForgetRemoved(const ShardMap& old);
  void ForgetUnrecovered(RowOutputs& out);
  void On(NodeId from, const HandoverAck& ack, MonotonicTime now, RowOutputs& out);
  void On(NodeId from, FetchedRows&& fetched, MonotonicTime now, RowOutputs& out);
  void Resolve(MonotonicTime now, RowOutputs& out);

  // What the parts share.
  RowContext node_;
  RowTables tables_{node_.options()};
  RowRecords records_;
  ShardStates shards_;

  RowInbox inbox_{node_};
  RowPulls pulls_{node_, tables_, records_};
  RowSnapshot snapshot_{node_, tables_, records_};
  RowReplicas replicas_{node_, tables_, shards_, records_};
  RowMoves moves_{node_, tables_, shards_, records_, pulls_, snapshot_, replicas_};
  RowCopies copies_{node_, tables_, shards_, records_};
  RowInstalls installs_{node_, tables_, shards_, records_};
  RowRestore restore_{node_, tables_, shards_, records_, installs_};
  RowRecovery recovery_{node_, tables_, shards_, moves_.handovers(), copies_, restore_};
  RowOperations operations_{node_, tables_, shards_, records_, pulls_, moves_, installs_, replicas_};
  RowArrivals arrivals_{node_, tables_, shards_, records_, pulls_, snapshot_, moves_, installs_, operations_};
};

}  // namespace attune::ps
