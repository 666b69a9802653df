// A worker's side of the protocol: a state machine without sockets, threads or clock.
//
//   WorkerCore core(options);
//   WorkerOutputs out;
//   core.Step(PullCall{...}, now, out);       // a call, a message, a connection event or the timer
//   // send out.send, answer out.completions, connect to out.connect; call Step(Timer{}) at core.WakeAt()
//
// It says what happens in which order; each mechanism is a class of its own, which can be asked here.
//
// Externally synchronized: one Step at a time. `now` never goes back. Each call ends in exactly one Completion, by its
// deadline (given that the shell steps at WakeAt()). A core never sends to a peer before the shell has reported it as
// connected, and takes up what is open at PeerConnected.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "base/status.h"
#include "base/time_source.h"
#include "base/wake_time.h"
#include "ps/core/link/heartbeats.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/membership/coordinator_term.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/node_inputs.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/worker/joining.h"
#include "ps/core/worker/rows/worker_rows.h"
#include "ps/core/worker/worker_calls.h"
#include "ps/core/worker/worker_ending.h"
#include "ps/core/worker/worker_inbox.h"
#include "ps/core/worker/worker_io.h"
#include "ps/core/worker/worker_steps.h"

namespace attune::ps {

class WorkerCore {
 public:
  explicit WorkerCore(WorkerOptions options);

  void Step(WorkerInput input, MonotonicTime now, WorkerOutputs& out);
  // When Step(Timer{}) is due at the latest; kNever when nothing waits for time.
  MonotonicTime WakeAt() const;

  // Pull and push of keys whose rows are all here, without a message, a call's book-keeping or memory. False or
  // nullopt: not all are here (or something else asks for the usual way); nothing has happened, but `rows` may have
  // been written.
  bool PullHere(TableId table, std::span<const Key> keys, std::span<float> rows, MonotonicTime now,
                CopyReads copies = CopyReads::kAnnounced);
  std::optional<Status> PushHere(TableId table, std::span<const Key> keys, std::span<const float> gradients);

  // Of this node's data plane, as others reach it; empty: no process does. Before the first step.
  void SetAddress(std::string address) { joining_.SetAddress(std::move(address)); }

  // Where the rows of an answer of `from` to this pull belong when they belong in one piece, `values` of them; else
  // empty. What is named here may be written to until the reply is handed over, with its rows there; or `from` has been
  // disconnected; or the shell has revoked the place, because WorkerOutputs::revoke asks for it or because the call is
  // about to be completed with an error. No second place is given meanwhile, and the core leaves the rows alone.
  std::span<float> PlaceOf(NodeId from, RequestId request, size_t values) {
    return rows_.pulls().PlaceOf(from, request, values);
  }
  // Of pushes and pulls since the last call.
  RowCounts TakeCounts() { return rows_.TakeCounts(); }

  NodeId node() const { return cluster_.self(); }  // 0 before the welcome
  const ShardMap& map() const { return cluster_.map(); }
  const ClusterView& cluster() const { return cluster_; }
  // What it does with rows, and the rows that it owns.
  const WorkerRows& rows() const { return rows_; }
  const WorkerSteps& steps() const { return steps_; }
  // Begins steps, and answers for rows it owns, as long as the coordinator answers its heartbeats
  // (docs/protocol.md#another-coordinator).
  const Heartbeats& heartbeats() const { return heartbeats_; }
  const CoordinatorTerm& coordinator() const { return coordinator_; }
  // Messages dropped because their senders may not say such a thing (message_rights.h).
  uint64_t without_right() const { return inbox_.refused(); }
  const Status& status() const { return ending_.lost(); }  // not OK: session lost

 private:
  // Calls of the program, while any are taken. Those with a deadline end with a completion, if their caller waits.
  template <typename Call>
  void On(Call call, MonotonicTime now, WorkerOutputs& out) {
    if constexpr (requires { call.deadline; }) {
      if (Status refusal = ending_.Refusal(); !refusal.ok()) {
        if (call.call == CallId()) return;
        return out.completions.push_back({.call = call.call, .status = std::move(refusal), .result = {}});
      }
    } else if constexpr (std::is_same_v<Call, ReportMetricCall> || std::is_same_v<Call, IntendCall>) {
      if (!ending_.takes_calls()) return;
    }
    if constexpr (std::is_same_v<Call, FlushCall> || std::is_same_v<Call, LeaveCall>) rows_.replicas().Hurry(now, out);
    if constexpr (requires { Begin(std::move(call), now, out); }) {
      Begin(std::move(call), now, out);
    } else if constexpr (requires { rows_.On(std::move(call), steps_.point(), now, out); }) {
      rows_.On(std::move(call), steps_.point(), now, out);
    } else {
      calls_.On(std::move(call), now, out);
    }
  }
  void Begin(JoinCall call, MonotonicTime now, WorkerOutputs& out);
  void Begin(StepCall call, MonotonicTime now, WorkerOutputs& out);
  void Begin(const LocalizeCall& call, MonotonicTime now, WorkerOutputs& out);
  void On(Received input, MonotonicTime now, WorkerOutputs& out);
  void On(PeerConnected input, MonotonicTime now, WorkerOutputs& out);
  void On(PeerDisconnected input, MonotonicTime now, WorkerOutputs& out);
  void On(Timer input, MonotonicTime now, WorkerOutputs& out);

  // Messages about rows, answers of the coordinator to calls, what ends the session, and those that a worker never
  // gets, which are ignored.
  template <typename Other>
  void OnMessage(NodeId from, Other&& message, MonotonicTime now, WorkerOutputs& out) {
    if constexpr (requires { rows_.OnMessage(from, std::forward<Other>(message), now, out); }) {
      if (rows_.OnMessage(from, std::forward<Other>(message), now, out)) AfterPushesSettled(now, out);
    } else if constexpr (requires { rows_.own().Cut(std::forward<Other>(message), now, out); }) {
      rows_.own().Cut(std::forward<Other>(message), now, out);
    } else if constexpr (requires { calls_.OnMessage(std::forward<Other>(message), now, out); }) {
      calls_.OnMessage(std::forward<Other>(message), now, out);
    } else if constexpr (requires { WorkerEnding::ErrorOf(std::forward<Other>(message)); }) {
      LoseSession(WorkerEnding::ErrorOf(std::forward<Other>(message)), out);
    }
  }
  void OnMessage(NodeId from, Welcome&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(NodeId from, MapUpdate&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(NodeId from, HeartbeatAck&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(NodeId from, Promise&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(NodeId from, SyncUpdate&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(NodeId from, GoalReached&& message, MonotonicTime now, WorkerOutputs& out);

  void AnswerSelf(MonotonicTime now, WorkerOutputs& out);
  void AfterPushesSettled(MonotonicTime now, WorkerOutputs& out);
  void BeginStep(MonotonicTime now, WorkerOutputs& out);
  void SendJoin(MonotonicTime now, WorkerOutputs& out);
  void CompleteJoin(WorkerOutputs& out);
  void SendHeartbeat(MonotonicTime now, WorkerOutputs& out);
  Heartbeat NextHeartbeat();
  void LoseSession(Status status, WorkerOutputs& out);

  const WorkerOptions options_;
  ClusterView cluster_;
  CoordinatorTerm coordinator_;
  Heartbeats heartbeats_;
  WorkerRows rows_;
  WorkerSteps steps_;
  WorkerEnding ending_;
  WorkerCalls calls_;
  Joining joining_;
  WorkerInbox inbox_;
  bool goal_reached_ = false;
  MonotonicTime now_{};  // of the step in progress
  WakeTime wake_;        // what the core itself waits for
};

}  // namespace attune::ps
