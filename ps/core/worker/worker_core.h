// A worker's side of the protocol: a state machine without sockets, threads or clock.
//
//   WorkerCore core(options);
//   WorkerOutputs out;
//   core.Step(PullCall{...}, now, out);       // a call, a message, a connection event or the timer
//   // send out.send, answer out.completions, connect to out.connect; call Step(Timer{}) at core.WakeAt()
//
// Externally synchronized: one Step at a time. `now` never goes back. Each call ends in exactly one Completion, by its
// deadline (given that the shell steps at WakeAt()). A core never sends to a peer before the shell has reported it as
// connected, and takes up what is open at PeerConnected.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/link/fenced_inbox.h"
#include "ps/core/link/heartbeats.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/membership/coordinator_term.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/message_rights.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/node_inputs.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/rows/row_node.h"
#include "ps/core/worker/joining.h"
#include "ps/core/worker/rows/worker_rows.h"
#include "ps/core/worker/step_gate.h"
#include "ps/core/worker/worker_calls.h"
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
  bool PullHere(TableId table, std::span<const Key> keys, std::span<float> rows, MonotonicTime now);
  std::optional<Status> PushHere(TableId table, std::span<const Key> keys, std::span<const float> gradients);

  // Of this node's data plane, as others reach it; empty: no process does. Before the first step.
  void SetAddress(std::string address) { options_.address = std::move(address); }

  // Where the rows of an answer of `from` to this pull belong when they belong in one piece, `values` of them; else
  // empty. What is named here may be written to until the reply is handed over, with its rows there; or `from` has been
  // disconnected; or the shell has revoked the place, because WorkerOutputs::revoke asks for it or because the call is
  // about to be completed with an error. No second place is given meanwhile, and the core leaves the rows alone.
  std::span<float> PlaceOf(NodeId from, RequestId request, size_t values) {
    return rows_.pulls().PlaceOf(from, request, values);
  }

  NodeId node() const { return cluster_.self(); }  // 0 before the welcome
  const ShardMap& map() const { return cluster_.map(); }
  NodeId only_server() const { return cluster_.only_server(); }
  uint64_t steps() const { return steps_.ended(); }  // ended by this worker
  const StepGate& gate() const { return steps_.gate(); }
  // Begins steps, and answers for rows it owns, as long as the coordinator answers its heartbeats
  // (docs/protocol.md#another-coordinator).
  bool MayAct(MonotonicTime now) const { return heartbeats_.lease().Valid(now); }
  // How long it may not act already; zero while it may.
  Duration CoordinatorSilence(MonotonicTime now) const { return heartbeats_.Silence(now); }
  // Of other coordinators, from nodes that have no say in it.
  uint64_t notices_ignored() const { return coordinator_.notices_ignored(); }
  // Messages dropped because their senders may not say such a thing (message_rights.h).
  uint64_t without_right() const { return rights_.refused(); }
  // Not settled, the ones waiting for room included.
  size_t open_pushes() const { return rows_.pushes().window().size(); }
  const Status& status() const { return lost_; }              // not OK: session lost
  const RowNode& rows() const { return rows_.own().rows(); }  // owned here
  // Of pushes and pulls since the last call.
  RowCounts TakeCounts() { return rows_.TakeCounts(); }
  uint64_t steps_ahead() const { return rows_.fetches().announced().steps_ahead(); }
  // PullHere and PushHere are worth a try.
  bool MayBeHere() const { return rows_.MayBeHere(); }

 private:
  // Calls about rows, and those that wait for the coordinator. Those with a deadline end with a completion.
  template <typename Call>
  void On(Call call, MonotonicTime now, WorkerOutputs& out) {
    if constexpr (requires { call.deadline; }) {
      if (Refuse(call.call, out)) return;
    } else if constexpr (std::is_same_v<Call, ReportMetricCall> || std::is_same_v<Call, IntendCall>) {
      if (!takes_calls()) return;
    }
    if constexpr (requires { rows_.On(std::move(call), steps_.point(), now, out); }) {
      rows_.On(std::move(call), steps_.point(), now, out);
    } else {
      calls_.On(std::move(call), now, out);
    }
  }
  void On(const LocalizeCall& call, MonotonicTime now, WorkerOutputs& out);
  void On(JoinCall call, MonotonicTime now, WorkerOutputs& out);
  void On(StepCall call, MonotonicTime now, WorkerOutputs& out);
  void On(Received input, MonotonicTime now, WorkerOutputs& out);
  void On(PeerConnected input, MonotonicTime now, WorkerOutputs& out);
  void On(PeerDisconnected input, MonotonicTime now, WorkerOutputs& out);
  void On(Timer input, MonotonicTime now, WorkerOutputs& out);

  // Messages about rows, answers of the coordinator to calls, and those that a worker never gets, which are ignored.
  template <typename Other>
  void OnMessage(NodeId from, Other&& message, MonotonicTime now, WorkerOutputs& out) {
    if constexpr (requires { rows_.OnMessage(from, std::forward<Other>(message), now, out); }) {
      if (rows_.OnMessage(from, std::forward<Other>(message), now, out)) AfterPushesSettled(now, out);
    } else if constexpr (requires { rows_.own().Cut(std::forward<Other>(message), now, out); }) {
      rows_.own().Cut(std::forward<Other>(message), now, out);
    } else if constexpr (requires { calls_.OnMessage(std::forward<Other>(message), now, out); }) {
      calls_.OnMessage(std::forward<Other>(message), now, out);
    }
  }
  void OnMessage(NodeId from, Welcome&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(NodeId from, JoinRefused&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(NodeId from, MapUpdate&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(NodeId from, HeartbeatAck&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(NodeId from, Promise&& message, MonotonicTime now, WorkerOutputs& out);
  void OnCoordinatorAt(NodeId from, const CoordinatorAt& message, WorkerOutputs& out);
  void OnMessage(NodeId from, SyncUpdate&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(NodeId from, GoalReached&& message, MonotonicTime now, WorkerOutputs& out);
  void OnMessage(NodeId from, SessionLost&& message, MonotonicTime now, WorkerOutputs& out);

  // Rows.
  void OnRowMessage(Received input, MonotonicTime now, WorkerOutputs& out);
  void AnswerSelf(MonotonicTime now, WorkerOutputs& out);
  void AfterPushesSettled(MonotonicTime now, WorkerOutputs& out);

  // Calls, time.
  bool Refuse(CallId call, WorkerOutputs& out);  // completes at once when the session cannot take calls
  bool takes_calls() const { return lost_.ok() && !calls_.leaving(); }
  bool over() const { return !lost_.ok() || calls_.left(); }
  void BeginStep(MonotonicTime now, WorkerOutputs& out);
  void AdoptSync(const SyncState& state, MonotonicTime now, WorkerOutputs& out);
  void SendJoin(MonotonicTime now, WorkerOutputs& out);
  std::string WhatIsMissing() const;
  void SendHeartbeat(MonotonicTime now, WorkerOutputs& out);
  Heartbeat NextHeartbeat();
  void AdoptMap(ShardMap map, MonotonicTime now, WorkerOutputs& out);
  void CompleteJoin(WorkerOutputs& out);
  void LoseSession(Status status, WorkerOutputs& out);
  void SendAgain(MonotonicTime now, WorkerOutputs& out);
  void SkipPause(MonotonicTime now);
  void WakeBy(MonotonicTime time) { next_wake_ = std::min(next_wake_, time); }

  WorkerOptions options_;
  ClusterView cluster_;
  CoordinatorTerm coordinator_;
  Heartbeats heartbeats_;
  WorkerRows rows_;
  WorkerSteps steps_;
  WorkerCalls calls_;
  Joining joining_;
  RightsCheck rights_{Party::kWorker};
  FencedInbox fenced_;         // row messages that came while the lease had run out
  std::deque<Received> held_;  // answers sent under a newer map than this node's
  Status lost_;
  bool goal_reached_ = false;
  MonotonicTime now_{};               // of the step in progress
  MonotonicTime next_wake_ = kNever;  // earliest time that the core itself waits for; recomputed when passed
};

}  // namespace attune::ps
