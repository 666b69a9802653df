// What a worker does with rows: its pulls and pushes, from the program's call until they are answered, and the rows
// that it owns itself. Says which step comes after which; each mechanism is a class of its own
// (ps/core/worker/operations).
//
//   worker_rows.cpp     members, maps, connections, time, Localize
//   worker_pull.cpp     pulls
//   worker_push.cpp     pushes
//   worker_intents.cpp  rows that the program has announced
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
#include "ps/core/intent/announced_rows.h"
#include "ps/core/intent/row_accesses.h"
#include "ps/core/intent/step_point.h"
#include "ps/core/keys/unique_keys.h"
#include "ps/core/link/liveness_lease.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/node_inputs.h"
#include "ps/core/worker/operations/prefetched_rows.h"
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
  void Pull(const PullCall& call, const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  void On(CancelPull call, MonotonicTime now, WorkerOutputs& out);
  void On(RowsRevoked input, MonotonicTime now, WorkerOutputs& out);
  // `at`: where the worker stands; gradients count as computed in that step.
  void Push(PushCall call, const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  // True: this worker has to ask the coordinator for permission to own rows.
  bool Localize(const LocalizeCall& call, MonotonicTime now, WorkerOutputs& out);
  // See WorkerCore.
  bool PullHere(TableId table, std::span<const Key> keys, std::span<float> rows, const StepPoint& at,
                MonotonicTime now);
  std::optional<Status> PushHere(TableId table, std::span<const Key> keys, std::span<const float> gradients,
                                 uint64_t step);
  // Some rows may be here, so that PullHere is worth a try.
  bool MayBeHere() const { return own_.rows().shards().foreign_rows() > 0 || !prefetched_.empty(); }
  std::span<float> PlaceOf(NodeId from, RequestId request, size_t values);

  // --- rows that the program has announced (worker_intents.cpp)

  void Intend(const IntendCall& call, const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  void StepBegan(const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  void StepEnded(MonotonicTime now) { announced_.StepEnded(now); }
  // Takes what ended here of the calls that this class makes itself; once after each step of the core.
  void TakeFetches(MonotonicTime now, WorkerOutputs& out);

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

  const AnnouncedRows& announced() const { return announced_; }
  const PushWindow& pushes() const { return pushes_; }
  const RowHints& hints() const { return hints_; }
  Staleness TakeStaleness() { return hints_.TakeStaleness(); }
  RowAccesses TakeAccesses() { return std::exchange(accesses_, {}); }
  // The rows of this node itself.
  OwnRows& own() { return own_; }
  const OwnRows& own() const { return own_; }

 private:
  size_t KeysPerMessage(uint32_t dim) const;
  void PullAll(const PullCall& call, uint32_t dim, MonotonicTime now, WorkerOutputs& out);
  // The rows at these places of the call.
  void PullSome(const PullCall& call, uint32_t dim, std::span<const uint32_t> of, MonotonicTime now,
                WorkerOutputs& out);
  void PullPart(const PullCall& call, uint32_t dim, NodeId to, std::span<const uint32_t> places, MonotonicTime now,
                WorkerOutputs& out);
  PullCalls::Sender PullSender(MonotonicTime now) const;
  void Send(NodeId to, Message message, MonotonicTime now, WorkerOutputs& out);
  // What PullCalls sends with.
  auto PullsTo(MonotonicTime now, WorkerOutputs& out) {
    return [this, now, &out](NodeId to, ps::Pull pull) { Send(to, std::move(pull), now, out); };
  }
  void SendWhole(const PushWindow::Push& push, MonotonicTime now, WorkerOutputs& out);
  void SendOpenKeys(const PushWindow::Push& push, std::optional<NodeId> only, MonotonicTime now, WorkerOutputs& out);
  void SendPart(const PushWindow::Push& push, PushPart part, MonotonicTime now, WorkerOutputs& out);
  bool ApplyHere(const PushWindow::Push& push, const PushPart& part);
  bool Settle(SequenceNumber sequence, const Positions& positions, const Status& status, MonotonicTime now,
              WorkerOutputs& out);
  void WakeBy(MonotonicTime time) { wake_at_ = std::min(wake_at_, time); }

  // Takes rows of the call that have been fetched, or are coming. Returns the places of the others.
  std::vector<uint32_t> TakeFetched(const PullCall& call, const StepPoint& at, MonotonicTime now);
  void Fetch(TableId table, std::vector<Key> keys, const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  void FetchDue(const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  void FetchFailed(CallId fetch, MonotonicTime now, WorkerOutputs& out);
  // PullHere where some of the rows may have been fetched.
  bool PullNear(TableId table, std::span<const Key> keys, std::span<float> rows, const StepPoint& at,
                MonotonicTime now);
  // The program has these rows from elsewhere now: what was fetched of them is older.
  void ReadOtherwise(TableId table, std::span<const Key> keys);
  // It pushes to them.
  void PushedTo(TableId table, std::span<const Key> keys, const StepPoint& at);

  const WorkerOptions& options_;
  ClusterView& cluster_;
  OwnRows own_;
  std::unordered_map<TableId, TableSpec> tables_;
  PushWindow pushes_;
  PullCalls pulls_;
  RouteGroups routes_;
  UniqueKeys unique_;
  RowHints hints_;
  AnnouncedRows announced_;
  PrefetchedRows prefetched_;
  RowAccesses accesses_;
  MonotonicTime wake_at_ = kNever;  // earliest deadline or re-issue; recomputed when passed
};

}  // namespace attune::ps
