// The rows that a worker owns: its RowNode, the links to others that may hold rows, the rows that it has asked for, and
// its part in checkpoints (docs/protocol.md#one-relocation). Rows are served only while the worker's lease is valid.
//
// Externally synchronized. What it is constructed with must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "base/wake_time.h"
#include "ps/core/link/liveness_lease.h"
#include "ps/core/link/row_links.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/node_inputs.h"
#include "ps/core/rows/cut_part.h"
#include "ps/core/rows/row_node.h"
#include "ps/core/worker/operations/localize_calls.h"
#include "ps/core/worker/worker_io.h"
#include "ps/store/table_store.h"

namespace attune::ps {

class OwnRows {
 public:
  OwnRows(const WorkerOptions& options, ClusterView& cluster, const LivenessLease& lease);
  OwnRows(const OwnRows&) = delete;
  OwnRows& operator=(const OwnRows&) = delete;

  // --- members

  // The coordinator has admitted this node.
  void SetSelf(NodeId self) { rows_.SetSelf(self); }
  // The map names other members: says whom to dial, and of whom nothing need be kept.
  void AdoptMembers(std::span<const NodeId> gone, WorkerOutputs& out);
  // After that.
  void AdoptMap(MonotonicTime now, WorkerOutputs& out);
  void Connected(NodeId peer, MonotonicTime now, WorkerOutputs& out) { links_.Connected(peer, now, out.send); }
  void Disconnected(NodeId peer) { links_.Disconnected(peer); }
  // Members that it should have a connection to, and has none.
  std::vector<NodeId> Unreached() const;
  // The coordinator is to let this node own rows (Join::takes_rows), and the map does not yet.
  bool wants_permission() const { return wanted_ && !allowed_; }
  bool wanted() const { return wanted_; }

  // --- operations and rows

  // A message of another node about rows.
  void Receive(Received input, MonotonicTime now, WorkerOutputs& out);
  // To a server, in order and exactly once while both are members.
  void SendInOrder(NodeId to, Message message, MonotonicTime now, WorkerOutputs& out);
  // An operation of this worker's own.
  void Operate(Message message, MonotonicTime now, WorkerOutputs& out);
  // The next answer to such an operation, or to a push that Apply has applied, and who gave it; or a home's to a round.
  // Taken once the step that brought it is over: its caller is not ready before.
  std::optional<std::pair<NodeId, Message>> NextAnswer();
  // All pushes up to this one are settled.
  void LearnSettled(SequenceNumber acked_below, MonotonicTime now, WorkerOutputs& out);
  // Null: no row of the table is here.
  TableStore* StoreOf(TableId table) const;
  // As StoreOf, when a push may be applied at once: no copy of it need be made.
  TableStore* UnguardedStoreOf(TableId table) const { return rows_.shards().any_guard() ? nullptr : StoreOf(table); }
  void AnswerSelf(Message message) { answers_.push_back({cluster_.self(), std::move(message)}); }
  // The session cannot continue. The first reason counts.
  void Lose(Status status) {
    if (lost_.ok()) lost_ = std::move(status);
  }
  // Not OK: the rows cannot continue. Given once.
  Status TakeLost() { return std::exchange(lost_, OkStatus()); }
  void Report(WorkerOutputs& out);

  // --- Localize

  // `table` must be open. True: the coordinator must be asked for permission first.
  bool Localize(const LocalizeCall& call, const TableSpec& table, std::vector<Key> unique_keys, MonotonicTime now,
                WorkerOutputs& out);
  // What has not come yet is asked for again.
  void Relocalize(MonotonicTime now, WorkerOutputs& out);
  void Postpone(Duration pause) { localizes_.Postpone(pause); }
  void EndCalls(const Status& status, WorkerOutputs& out) { localizes_.EndAll(status, out.completions); }

  // --- checkpoints

  void Cut(Mark&& message, MonotonicTime now, WorkerOutputs& out);
  void Cut(const WriteSnapshot& message, MonotonicTime now, WorkerOutputs& out);
  void Cut(const CutEnded& message, MonotonicTime now, WorkerOutputs& out);

  // --- time

  // `silence()`: what the coordinator has not done, as text.
  template <typename Silence>
  void OnTimer(MonotonicTime now, Silence&& silence, WorkerOutputs& out) {
    wake_.Reset(localizes_.EndOverdue(now, silence, out.completions));
    wake_.By(localizes_.SendAgain(
        now, [&](TableId table, Slice<Key> keys) { SendLocalize(table, std::move(keys), now, out); }));
    rows_.OnTimer(now);
    links_.OnTimer(now, out.send);
  }
  MonotonicTime WakeAt() const { return std::min({wake_.at(), rows_.WakeAt(), links_.WakeAt()}); }

  const RowNode& rows() const { return rows_; }

 private:
  void Forward(RowOutputs& rows, MonotonicTime now, WorkerOutputs& out);
  void Forward(CutPart::Outputs& cut, MonotonicTime now, WorkerOutputs& out);
  void BeginLocalize(LocalizeCalls::Waiting call, MonotonicTime now, WorkerOutputs& out);
  void SendLocalize(TableId table, Slice<Key> keys, MonotonicTime now, WorkerOutputs& out);
  uint64_t RowBytes(TableId table) const;
  uint64_t RowBytesUsed() const;

  const WorkerOptions& options_;
  ClusterView& cluster_;
  const LivenessLease& lease_;
  RowNode rows_;
  CutPart cut_{std::nullopt};  // rows owned here go into the snapshots of their homes
  RowLinks links_;
  LocalizeCalls localizes_;
  bool wanted_ = false, allowed_ = false;           // rows here: asked for; as the map says
  std::set<NodeId> dialed_;                         // members that this node keeps a link to
  std::deque<std::pair<NodeId, Message>> answers_;  // to this worker's own operations and rounds
  Status lost_;
  uint64_t reports_ = 0;
  WakeTime wake_;
};

}  // namespace attune::ps
