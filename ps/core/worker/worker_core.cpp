#include "ps/core/worker/worker_core.h"

#include <algorithm>
#include <utility>

#include "ps/core/protocol/limits.h"

namespace attune::ps {

WorkerCore::WorkerCore(WorkerOptions options)
    : options_(std::move(options)),
      cluster_(options_.reissue_after),
      heartbeats_(options_.heartbeat_interval),
      rows_(options_, cluster_, heartbeats_.lease()),
      steps_(options_.mutations.clock_before_acknowledged, options_.mutations.no_step_gate),
      calls_(options_, cluster_, rows_, steps_),
      joining_(options_.reissue_after) {}

void WorkerCore::Step(WorkerInput input, MonotonicTime now, WorkerOutputs& out) {
  now = now_ = std::max(now, now_);  // a clock that goes back stands still
  SkipPause(now);
  std::visit([&](auto&& body) { On(std::forward<decltype(body)>(body), now, out); }, std::move(input));
  AnswerSelf(now, out);
  if (now >= WakeAt()) {
    On(Timer{}, now, out);
    AnswerSelf(now, out);
  }
  rows_.fetches().TakeEnded(now, out);
}

MonotonicTime WorkerCore::WakeAt() const {
  if (over()) return kNever;
  return std::min({next_wake_, rows_.WakeAt(), calls_.WakeAt()});
}

void WorkerCore::On(Received input, MonotonicTime now, WorkerOutputs& out) {
  if (over()) return;
  if (rights_.Refuses(input.message, input.from, PartyOf(input.from, cluster_.map()), out.rejected)) return;
  if (const auto* at = std::get_if<CoordinatorAt>(&input.message)) return OnCoordinatorAt(input.from, *at, out);
  if (input.from == kCoordinator && !coordinator_.Obeys(input.term, options_.mutations.old_term_not_refused)) return;
  if (IsRowMessage(input.message)) {
    if (!IsAnswer(input.message)) return OnRowMessage(std::move(input), now, out);
    // Nothing sent under a map is handled under an older one.
    if (MapVersionOf(input.message) > cluster_.map().version) {
      cluster_.AskForNewerMap(now, out.send);
      if (auto* reply = std::get_if<PullReply>(&input.message)) rows_.pulls().TakeOutOfPlace(input.from, *reply);
      if (held_.size() < kHeldMessagesMax) held_.push_back(std::move(input));
      return;
    }
    if (!cluster_.map().Contains(input.from)) return;
  }
  std::visit([&](auto&& body) { OnMessage(input.from, std::forward<decltype(body)>(body), now, out); },
             std::move(input.message));
}

// --- connections

void WorkerCore::On(PeerConnected input, MonotonicTime now, WorkerOutputs& out) {
  if (over()) return;
  cluster_.SetConnected(input.peer);
  if (input.peer == kCoordinator) return SendJoin(now, out);
  rows_.Connected(input.peer, now, out);
  CompleteJoin(out);
}

// However long a server or the coordinator is away, the session lives on: calls end by their own deadlines, and only
// the coordinator says who is lost.
void WorkerCore::On(PeerDisconnected input, MonotonicTime now, WorkerOutputs& out) {
  rows_.Disconnected(input.peer, now, out);
  cluster_.SetDisconnected(input.peer);
}

void WorkerCore::SendJoin(MonotonicTime now, WorkerOutputs& out) {
  joining_.Sent(now);
  // Before the job has formed, a coordinator that gave this node its number may have been lost.
  if (!cluster_.formed()) cluster_.SetSelf(NodeId());
  if (!cluster_.admitted()) WakeBy(joining_.again_at());
  out.send.push_back({.to = kCoordinator,
                      .message = Join{.incarnation = options_.incarnation,
                                      .job_uid = options_.job_uid,
                                      .role = Role::kWorker,
                                      .index = options_.index,
                                      .address = options_.address,
                                      .takes_rows = rows_.own().wanted(),
                                      .node = cluster_.self(),
                                      .term = coordinator_.term()}});
}

void WorkerCore::OnMessage(NodeId, Welcome&& message, MonotonicTime now, WorkerOutputs& out) {
  joining_.Welcomed(message.servers_expected, message.servers_joined);
  if (!cluster_.admitted()) {
    cluster_.SetSelf(message.node);
    rows_.own().SetSelf(message.node);
    steps_.Join(message.sync);
  }
  SendHeartbeat(now, out);
  calls_.SendAll(now, out);
  AdoptSync(message.sync, now, out);
  if (message.map.formed()) AdoptMap(std::move(message.map), now, out);
}

void WorkerCore::OnMessage(NodeId, JoinRefused&& message, MonotonicTime, WorkerOutputs& out) {
  LoseSession(Annotate(message.status, "joining the job"), out);
}

void WorkerCore::OnMessage(NodeId, SessionLost&& message, MonotonicTime, WorkerOutputs& out) {
  LoseSession(std::move(message.status), out);
}

// --- map

void WorkerCore::OnMessage(NodeId, MapUpdate&& message, MonotonicTime now, WorkerOutputs& out) {
  AdoptMap(std::move(message.map), now, out);
}

void WorkerCore::AdoptMap(ShardMap map, MonotonicTime now, WorkerOutputs& out) {
  if (map.version <= cluster_.map().version || !cluster_.admitted()) return;
  if (cluster_.formed() && map.shard_count() != cluster_.map().shard_count()) {
    return out.rejected.push_back({kCoordinator, "a map of " + std::to_string(map.shard_count()) +
                                                     " shards in a job of " +
                                                     std::to_string(cluster_.map().shard_count())});
  }
  if (!map.Contains(cluster_.self())) {
    if (calls_.leaving()) return;
    return LoseSession(Error(StatusCode::kAborted, "this worker (node " + std::to_string(cluster_.self().value()) +
                                                       ") is no longer a member of the job; start it again"),
                       out);
  }
  const ClusterView::Change change = cluster_.Adopt(std::move(map));
  rows_.AdoptMembers(change.gone, out);
  if (change.homes_changed) CompleteJoin(out);
  rows_.own().AdoptMap(now, out);
  for (const auto& [from, notice] : coordinator_.TakeEarly()) OnCoordinatorAt(from, notice, out);
  if ((change.server_gone || change.recovered) && options_.mutations.row != RowMutation::kNoReissueAtRecovery) {
    rows_.Reissue(now, out);
  }
  for (Received& held : std::exchange(held_, {})) On(std::move(held), now, out);
}

// --- heartbeat, goal, end

void WorkerCore::SendHeartbeat(MonotonicTime now, WorkerOutputs& out) {
  WakeBy(heartbeats_.Schedule(now));
  if (!cluster_.IsConnected(kCoordinator)) return;
  out.send.push_back({.to = kCoordinator, .message = NextHeartbeat()});
  heartbeats_.Sent(now);
  rows_.own().Report(out);
}

Heartbeat WorkerCore::NextHeartbeat() {
  Heartbeat heartbeat{.number = heartbeats_.TakeNumber(),
                      .map_version = cluster_.map().version,
                      .acked_below = rows_.pushes().window().AckedBelow(),
                      .leases = {},
                      .unreached = rows_.own().Unreached()};
  steps_.DescribeIn(heartbeat);
  calls_.DescribeIn(heartbeat);
  return heartbeat;
}

void WorkerCore::OnMessage(NodeId, HeartbeatAck&& message, MonotonicTime now, WorkerOutputs& out) {
  heartbeats_.Answered(message.number, message.liveness);
  if (MayAct(now)) {
    for (Received& input : fenced_.Take()) On(std::move(input), now, out);
  }
  AdoptSync(message.sync, now, out);
  BeginStep(now, out);
}

// --- another coordinator

void WorkerCore::OnCoordinatorAt(NodeId from, const CoordinatorAt& message, WorkerOutputs& out) {
  if (auto place = coordinator_.Follow(from, message, cluster_.map())) out.coordinator = std::move(place);
}

void WorkerCore::OnMessage(NodeId, Promise&&, MonotonicTime, WorkerOutputs& out) {
  out.send.push_back(
      {.to = kCoordinator,
       .message = Promised{
           .map = cluster_.map(), .standing = NextHeartbeat(), .sync = gate().state(), .tables = {}, .mirror = {}}});
}

void WorkerCore::OnMessage(NodeId, GoalReached&& message, MonotonicTime, WorkerOutputs& out) {
  if (std::exchange(goal_reached_, true)) return;
  out.goal_reached = std::move(message.reason);
}

void WorkerCore::LoseSession(Status status, WorkerOutputs& out) {
  if (!lost_.ok()) return;
  lost_ = status;
  rows_.EndAll(status, out);
  calls_.EndAll(status, out);
  rows_.own().EndCalls(status, out);
  next_wake_ = kNever;
  out.lost = std::move(status);
}

// --- time

void WorkerCore::On(Timer, MonotonicTime now, WorkerOutputs& out) {
  next_wake_ = kNever;
  if (over()) return;
  rows_.EndOverdue(now, out);
  calls_.EndOverdue(
      now,
      [&](CallId call, bool step) {
        joining_.GiveUp(call);
        return step ? steps_.WhatHolds(cluster_, !MayAct(now)) : WhatIsMissing();
      },
      out);
  const auto silence = [&] {
    return cluster_.IsConnected(kCoordinator) ? "the coordinator has not answered" : WhatIsMissing();
  };
  rows_.own().OnTimer(now, silence, out);
  SendAgain(now, out);
  if (cluster_.admitted()) {
    if (heartbeats_.Due(now)) SendHeartbeat(now, out);
    WakeBy(heartbeats_.next());
  }
}

// The program has stood still with this process: its calls get the time they would have had (base/pause_watch.h).
void WorkerCore::SkipPause(MonotonicTime now) {
  const Duration pause = heartbeats_.PausedUntil(now);
  if (pause == Duration::zero()) return;
  rows_.Postpone(pause);
  calls_.Postpone(pause);
}

std::string WorkerCore::WhatIsMissing() const {
  if (!cluster_.IsConnected(kCoordinator)) return "the coordinator is not reachable; see the log of server 0";
  if (!cluster_.admitted()) return "the coordinator has not answered";
  if (!cluster_.formed()) return joining_.WhatIsMissing();
  if (const NodeId server = cluster_.ServerNotConnected(); server != NodeId()) {
    return Describe(cluster_.map(), server) + " is not reachable; see its log";
  }
  if (open_pushes() > 0) return std::to_string(open_pushes()) + " pushes are not acknowledged yet";
  return "no answer within the call's time; try again";
}

void WorkerCore::SendAgain(MonotonicTime now, WorkerOutputs& out) {
  if (!cluster_.admitted()) {
    if (cluster_.IsConnected(kCoordinator)) {
      if (now >= joining_.again_at()) SendJoin(now, out);
      WakeBy(joining_.again_at());
    }
    return;
  }
  if (rows_.own().wants_permission() && cluster_.IsConnected(kCoordinator)) {
    if (now >= joining_.again_at()) SendJoin(now, out);
    WakeBy(joining_.again_at());
  }
  rows_.SendAgain(now, out);
  calls_.SendAgain(now, out);
}

// --- rows

// acked_below has risen: what waited for it.
void WorkerCore::AfterPushesSettled(MonotonicTime now, WorkerOutputs& out) {
  calls_.OnPushesSettled(now, out);
  if (steps_.Settle(rows_.pushes().window()).report)
    SendHeartbeat(now, out);  // after the leases: one heartbeat says both
  calls_.LeaveWhenSettled(now, out);
  rows_.pushes().SendWaiting(now, out);
}

bool WorkerCore::PullHere(TableId table, std::span<const Key> keys, std::span<float> rows, MonotonicTime now) {
  return takes_calls() && rows_.PullHere(table, keys, rows, steps_.point(), now);
}

std::optional<Status> WorkerCore::PushHere(TableId table, std::span<const Key> keys, std::span<const float> gradients) {
  if (!takes_calls()) return std::nullopt;
  return rows_.PushHere(table, keys, gradients, gate().clock());
}

void WorkerCore::On(const LocalizeCall& call, MonotonicTime now, WorkerOutputs& out) {
  if (Refuse(call.call, out) || !rows_.Localize(call, now, out)) return;
  if (cluster_.admitted() && cluster_.IsConnected(kCoordinator)) SendJoin(now, out);
}

void WorkerCore::OnRowMessage(Received input, MonotonicTime now, WorkerOutputs& out) {
  if (!cluster_.admitted()) return;
  if (!MayAct(now)) return fenced_.Keep(std::move(input));  // others may have taken its place
  rows_.own().Receive(std::move(input), now, out);
}

// Not at once: the caller that asked is not ready before the end of its step.
void WorkerCore::AnswerSelf(MonotonicTime now, WorkerOutputs& out) {
  if (Status lost = rows_.own().TakeLost(); !lost.ok()) LoseSession(std::move(lost), out);
  while (lost_.ok()) {
    std::optional<Message> answer = rows_.own().NextAnswer();
    if (!answer) return;
    std::visit([&](auto&& body) { OnMessage(cluster_.self(), std::forward<decltype(body)>(body), now, out); },
               *std::move(answer));
  }
}

// --- calls

bool WorkerCore::Refuse(CallId call, WorkerOutputs& out) {
  Status status = lost_;
  if (status.ok() && calls_.leaving()) {
    status = Error(StatusCode::kFailedPrecondition, "this worker is leaving the job; no further calls are taken");
  }
  if (status.ok()) return false;
  out.completions.push_back({.call = call, .status = std::move(status), .result = {}});
  return true;
}

void WorkerCore::On(JoinCall call, MonotonicTime, WorkerOutputs& out) {
  if (Refuse(call.call, out)) return;
  calls_.Open(call.call, call.deadline, "joining the job");
  WakeBy(call.deadline);
  joining_.Wait(call.call);
  CompleteJoin(out);
}

void WorkerCore::CompleteJoin(WorkerOutputs& out) {
  if (!joining_.waits() || !cluster_.admitted() || !cluster_.formed()) return;
  if (cluster_.ServerNotConnected() != NodeId()) return;
  if (!gate().in_step()) return;  // rows are being copied before this step: pushes of the program would be in them
  calls_.End(joining_.TakeCall(), OkStatus(), {}, out);
}

void WorkerCore::On(StepCall call, MonotonicTime now, WorkerOutputs& out) {
  const bool waits = call.call != CallId();
  if (waits ? Refuse(call.call, out) : !takes_calls()) return;
  if (gate().in_step()) rows_.fetches().StepEnded(now);
  if (steps_.End(call.samples, call.loss, rows_.pushes().window()).report) SendHeartbeat(now, out);
  if (waits) calls_.OpenStep(call.call, call.deadline, "beginning step " + std::to_string(gate().clock()));
  BeginStep(now, out);
  if (calls_.waits_for_step()) WakeBy(call.deadline);
}

void WorkerCore::BeginStep(MonotonicTime now, WorkerOutputs& out) {
  if (!MayAct(now)) return;  // its data may be with others already
  const WorkerSteps::Outcome outcome = steps_.TryBegin(rows_.pushes().window());
  if (outcome.report) SendHeartbeat(now, out);
  if (!outcome.begun) return;
  rows_.fetches().StepBegan(steps_.point(), now, out);
  CompleteJoin(out);
  calls_.EndSteps(out);
}

void WorkerCore::AdoptSync(const SyncState& state, MonotonicTime now, WorkerOutputs& out) {
  const WorkerSteps::News news = steps_.Adopt(state);
  if (news == WorkerSteps::News::kNone) return;
  if (news == WorkerSteps::News::kNewHold) SendHeartbeat(now, out);
  BeginStep(now, out);
}

void WorkerCore::OnMessage(NodeId, SyncUpdate&& message, MonotonicTime now, WorkerOutputs& out) {
  AdoptSync(message.sync, now, out);
}

}  // namespace attune::ps
