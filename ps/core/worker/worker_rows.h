// What a worker does with rows: its pulls and pushes, from the program's call until they are answered, and the rows
// that it owns itself. Says which step comes after which; each mechanism is a class of its own
// (ps/core/worker/operations).
//
//   worker_rows.cpp  members, maps, connections, time, Localize
//   worker_pull.cpp  pulls
//   worker_push.cpp  pushes
//
// Externally synchronized. What it is constructed with must outlive it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/keys/unique_keys.h"
#include "ps/core/link/liveness_lease.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/node_inputs.h"
#include "ps/core/worker/operations/pull_calls.h"
#include "ps/core/worker/operations/push_window.h"
#include "ps/core/worker/operations/route_groups.h"
#include "ps/core/worker/operations/row_hints.h"
#include "ps/core/worker/own_rows.h"
#include "ps/core/worker/worker_io.h"

namespace attune::ps {

class WorkerRows {
 public:
  WorkerRows(const WorkerOptions& options, ClusterView& cluster, const LivenessLease& lease);

  // --- calls, while the session takes any

  void OpenTable(TableId table, const TableSpec& spec) { tables_[table] = spec; }
  void On(PullCall call, MonotonicTime now, WorkerOutputs& out);
  void On(CancelPull call, MonotonicTime now, WorkerOutputs& out);
  void On(RowsRevoked input, MonotonicTime now, WorkerOutputs& out);
  // `step`: in which the gradients were computed.
  void Push(PushCall call, uint64_t step, MonotonicTime now, WorkerOutputs& out);
  // True: this worker has to ask the coordinator for permission to own rows.
  bool Localize(const LocalizeCall& call, MonotonicTime now, WorkerOutputs& out);
  // See WorkerCore.
  bool PullHere(TableId table, std::span<const Key> keys, std::span<float> rows);
  std::optional<Status> PushHere(TableId table, std::span<const Key> keys, std::span<const float> gradients,
                                 uint64_t step);
  std::span<float> PlaceOf(NodeId from, RequestId request, size_t values);

  // --- messages. True: SettledBelow() has risen; SendWaitingPushes is due once what waited for that has been done.

  bool OnMessage(NodeId from, PushAck&& message, MonotonicTime now, WorkerOutputs& out);
  bool OnMessage(NodeId from, PushRefused&& message, MonotonicTime now, WorkerOutputs& out);
  bool OnMessage(NodeId from, PullReply&& message, MonotonicTime now, WorkerOutputs& out);
  bool OnMessage(NodeId from, PullRefused&& message, MonotonicTime now, WorkerOutputs& out);
  bool OnMessage(NodeId from, Moved&& message, MonotonicTime now, WorkerOutputs& out);
  void SendWaitingPushes(MonotonicTime now, WorkerOutputs& out);
  // An answer that comes under a newer map keeps nothing of the program's memory while it waits for that.
  void Defer(NodeId from, PullReply& reply) { pulls_.TakeOutOfPlace(from, reply); }

  // --- members and connections

  void AdoptMembers(std::span<const NodeId> gone, WorkerOutputs& out);
  void Connected(NodeId peer, MonotonicTime now, WorkerOutputs& out);
  void Disconnected(NodeId peer, MonotonicTime now, WorkerOutputs& out);
  // A node is gone, with what it had in hand: whatever is open is issued again, to the homes of today.
  void Reissue(MonotonicTime now, WorkerOutputs& out);

  // --- time and ends

  void Postpone(Duration pause);
  // Pulls and pushes whose time is over.
  void EndOverdue(MonotonicTime now, WorkerOutputs& out);
  void SendAgain(MonotonicTime now, WorkerOutputs& out);
  MonotonicTime WakeAt() const { return std::min(wake_at_, own_.WakeAt()); }
  // The session is lost: pulls and pushes end with `status`.
  void EndAll(const Status& status, WorkerOutputs& out);

  const PushWindow& pushes() const { return pushes_; }
  const RowHints& hints() const { return hints_; }
  Staleness TakeStaleness() { return hints_.TakeStaleness(); }
  // The rows of this node itself.
  OwnRows& own() { return own_; }
  const OwnRows& own() const { return own_; }

 private:
  size_t KeysPerMessage(uint32_t dim) const;
  void PullPart(const PullCall& call, uint32_t dim, NodeId to, std::span<const uint32_t> places, MonotonicTime now,
                WorkerOutputs& out);
  PullCalls::Sender PullSender(MonotonicTime now) const;
  void Send(NodeId to, Message message, MonotonicTime now, WorkerOutputs& out);
  // What PullCalls sends with.
  auto PullsTo(MonotonicTime now, WorkerOutputs& out) {
    return [this, now, &out](NodeId to, Pull pull) { Send(to, std::move(pull), now, out); };
  }
  void SendWhole(const PushWindow::Push& push, MonotonicTime now, WorkerOutputs& out);
  void SendOpenKeys(const PushWindow::Push& push, std::optional<NodeId> only, MonotonicTime now, WorkerOutputs& out);
  void SendPart(const PushWindow::Push& push, PushPart part, MonotonicTime now, WorkerOutputs& out);
  bool ApplyHere(const PushWindow::Push& push, const PushPart& part);
  bool Settle(SequenceNumber sequence, const Positions& positions, const Status& status, MonotonicTime now,
              WorkerOutputs& out);
  void WakeBy(MonotonicTime time) { wake_at_ = std::min(wake_at_, time); }

  const WorkerOptions& options_;
  ClusterView& cluster_;
  OwnRows own_;
  std::unordered_map<TableId, TableSpec> tables_;
  PushWindow pushes_;
  PullCalls pulls_;
  RouteGroups routes_;
  UniqueKeys unique_;
  RowHints hints_;
  MonotonicTime wake_at_ = kNever;  // earliest deadline or re-issue; recomputed when passed
};

}  // namespace attune::ps
