#include "ps/core/worker/worker_core.h"

#include <algorithm>
#include <utility>

namespace attune::ps {
namespace {

// For people.
std::string WhatIsMissing(const Joining& joining, const PushWindow& pushes) {
  if (std::string missing = joining.WhatIsMissing(); !missing.empty()) return missing;
  if (!pushes.empty()) return std::to_string(pushes.size()) + " pushes are not acknowledged yet";
  return "no answer within the call's time; try again";
}

}  // namespace

WorkerCore::WorkerCore(WorkerOptions options)
    : options_(std::move(options)),
      cluster_(options_.reissue_after),
      heartbeats_(options_.heartbeat_interval),
      rows_(options_, cluster_, heartbeats_.lease()),
      steps_(options_.mutations.clock_before_acknowledged, options_.mutations.no_step_gate),
      calls_(options_, cluster_, rows_, steps_, ending_),
      joining_(cluster_,
               {.incarnation = options_.incarnation,
                .job_uid = options_.job_uid,
                .role = Role::kWorker,
                .index = options_.index,
                .address = options_.address},
               options_.reissue_after),
      inbox_(cluster_, heartbeats_.lease()) {}

void WorkerCore::Step(WorkerInput input, MonotonicTime now, WorkerOutputs& out) {
  now = now_ = std::max(now, now_);  // a clock that goes back stands still
  // The program has stood still with this process: its calls get the time they would have had (base/pause_watch.h).
  if (const Duration pause = heartbeats_.PausedUntil(now); pause != Duration::zero()) {
    rows_.Postpone(pause);
    calls_.Postpone(pause);
  }
  std::visit([&](auto&& body) { On(std::forward<decltype(body)>(body), now, out); }, std::move(input));
  AnswerSelf(now, out);
  if (now >= WakeAt()) {
    On(Timer{}, now, out);
    AnswerSelf(now, out);
  }
  rows_.fetches().TakeEnded(now, out);
}

MonotonicTime WorkerCore::WakeAt() const {
  if (ending_.over()) return kNever;
  return std::min({wake_.at(), rows_.WakeAt(), calls_.WakeAt()});
}

void WorkerCore::On(Received input, MonotonicTime now, WorkerOutputs& out) {
  if (ending_.over() || inbox_.Refuses(input, out.rejected)) return;
  if (const auto* at = std::get_if<CoordinatorAt>(&input.message)) {
    if (auto place = coordinator_.Follow(input.from, *at, cluster_.map())) out.coordinator = std::move(place);
    return;
  }
  if (input.from == kCoordinator && !coordinator_.Obeys(input.term, options_.mutations.old_term_not_refused)) return;
  const WorkerInbox::Turn turn = inbox_.TurnOf(input, now);
  if (turn == WorkerInbox::Turn::kNever) return;
  if (turn == WorkerInbox::Turn::kUnderNewerMap) {
    cluster_.AskForNewerMap(now, out.send);
    if (auto* reply = std::get_if<PullReply>(&input.message)) rows_.pulls().TakeOutOfPlace(input.from, *reply);
  }
  if (turn != WorkerInbox::Turn::kNow) return inbox_.Keep(std::move(input), turn);
  if (IsRowMessage(input.message) && !IsAnswer(input.message)) {
    return rows_.own().Receive(std::move(input), now, out);
  }
  std::visit([&](auto&& body) { OnMessage(input.from, std::forward<decltype(body)>(body), now, out); },
             std::move(input.message));
}

// --- connections

void WorkerCore::On(PeerConnected input, MonotonicTime now, WorkerOutputs& out) {
  if (ending_.over()) return;
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
  out.send.push_back({.to = kCoordinator, .message = joining_.Ask(coordinator_.term(), rows_.own().wanted(), now)});
  wake_.By(joining_.again_at(/*wants_permission=*/false));
}

void WorkerCore::OnMessage(NodeId from, Welcome&& message, MonotonicTime now, WorkerOutputs& out) {
  if (joining_.Welcomed(message)) {
    rows_.own().SetSelf(message.node);
    steps_.Join(message.sync);
  }
  SendHeartbeat(now, out);
  calls_.SendAll(now, out);
  OnMessage(from, SyncUpdate{.sync = message.sync}, now, out);
  if (message.map.formed()) OnMessage(from, MapUpdate{.map = std::move(message.map)}, now, out);
}

// --- map

void WorkerCore::OnMessage(NodeId, MapUpdate&& message, MonotonicTime now, WorkerOutputs& out) {
  ShardMap& map = message.map;
  if (map.version <= cluster_.map().version || !cluster_.admitted()) return;
  if (cluster_.formed() && map.shard_count() != cluster_.map().shard_count()) {
    return out.rejected.push_back({kCoordinator, "a map of " + std::to_string(map.shard_count()) +
                                                     " shards in a job of " +
                                                     std::to_string(cluster_.map().shard_count())});
  }
  if (!map.Contains(cluster_.self())) {
    if (ending_.leaving()) return;
    return LoseSession(Error(StatusCode::kAborted, "this worker (node " + std::to_string(cluster_.self().value()) +
                                                       ") is no longer a member of the job; start it again"),
                       out);
  }
  const ClusterView::Change change = cluster_.Adopt(std::move(map));
  rows_.AdoptMembers(change.gone, out);
  if (change.homes_changed) CompleteJoin(out);
  rows_.own().AdoptMap(now, out);
  for (const auto& [from, notice] : coordinator_.TakeEarly()) {
    if (auto place = coordinator_.Follow(from, notice, cluster_.map())) out.coordinator = std::move(place);
  }
  if (change.homes_changed || change.server_gone || change.recovered) {
    rows_.replicas().GiveUp(WorkerReplicas::Because::kHomesChanged, now, out);
  }
  if ((change.server_gone || change.recovered) && options_.mutations.row != RowMutation::kNoReissueAtRecovery) {
    rows_.Reissue(now, out);
  }
  for (Received& held : inbox_.TakeUnderMap()) On(std::move(held), now, out);
}

// --- heartbeat, goal, end

void WorkerCore::SendHeartbeat(MonotonicTime now, WorkerOutputs& out) {
  wake_.By(heartbeats_.Schedule(now));
  if (!cluster_.IsConnected(kCoordinator)) return;
  out.send.push_back({.to = kCoordinator, .message = NextHeartbeat()});
  heartbeats_.Sent(now);
  rows_.own().Report(out);
}

Heartbeat WorkerCore::NextHeartbeat() {
  Heartbeat heartbeat;
  heartbeat.number = heartbeats_.TakeNumber();
  heartbeat.map_version = cluster_.map().version;
  rows_.DescribeIn(heartbeat);
  steps_.DescribeIn(heartbeat);
  calls_.DescribeIn(heartbeat);
  return heartbeat;
}

void WorkerCore::OnMessage(NodeId from, HeartbeatAck&& message, MonotonicTime now, WorkerOutputs& out) {
  heartbeats_.Answered(message.number, message.liveness);
  rows_.fetches().SetIgnored(message.announcements_ignored, now, out);
  if (heartbeats_.MayAct(now)) {
    for (Received& input : inbox_.TakeUnderLease()) On(std::move(input), now, out);
  }
  OnMessage(from, SyncUpdate{.sync = message.sync}, now, out);
  BeginStep(now, out);
}

// Another coordinator takes over.
void WorkerCore::OnMessage(NodeId, Promise&&, MonotonicTime, WorkerOutputs& out) {
  out.send.push_back({.to = kCoordinator,
                      .message = Promised{.map = cluster_.map(),
                                          .standing = NextHeartbeat(),
                                          .sync = steps_.gate().state(),
                                          .tables = {},
                                          .mirror = {}}});
}

void WorkerCore::OnMessage(NodeId, GoalReached&& message, MonotonicTime, WorkerOutputs& out) {
  if (std::exchange(goal_reached_, true)) return;
  out.goal_reached = std::move(message.reason);
}

void WorkerCore::LoseSession(Status status, WorkerOutputs& out) {
  if (!ending_.Lose(status)) return;
  rows_.EndAll(status, out);
  calls_.EndAll(status, out);
  rows_.own().EndCalls(status, out);
  out.lost = std::move(status);
}

// --- time

void WorkerCore::On(Timer, MonotonicTime now, WorkerOutputs& out) {
  wake_.Reset();
  if (ending_.over()) return;
  rows_.EndOverdue(now, out);
  calls_.EndOverdue(
      now,
      [&](CallId call, bool step) {
        joining_.GiveUp(call);
        return step ? steps_.WhatHolds(cluster_, !heartbeats_.MayAct(now))
                    : WhatIsMissing(joining_, rows_.pushes().window());
      },
      out);
  const auto silence = [&] {
    return cluster_.IsConnected(kCoordinator) ? "the coordinator has not answered"
                                              : WhatIsMissing(joining_, rows_.pushes().window());
  };
  rows_.own().OnTimer(now, silence, out);
  const bool member = cluster_.admitted();
  const bool wants_permission = rows_.own().wants_permission();
  if (now >= joining_.again_at(wants_permission)) SendJoin(now, out);
  wake_.By(joining_.again_at(wants_permission));
  if (member) {
    rows_.SendAgain(now, out);
    calls_.SendAgain(now, out);
  }
  if (!cluster_.admitted()) return;
  if (heartbeats_.Due(now)) SendHeartbeat(now, out);
  wake_.By(heartbeats_.next());
}

// --- rows

// acked_below has risen: what waited for it.
void WorkerCore::AfterPushesSettled(MonotonicTime now, WorkerOutputs& out) {
  calls_.OnPushesSettled(now, out);
  // After the leases: one heartbeat says both.
  if (steps_.Settle(rows_.pushes().window()).report) SendHeartbeat(now, out);
  calls_.LeaveWhenSettled(now, out);
  rows_.pushes().SendWaiting(now, out);
}

bool WorkerCore::PullHere(TableId table, std::span<const Key> keys, std::span<float> rows, MonotonicTime now,
                          CopyReads copies) {
  return ending_.takes_calls() && rows_.PullHere(table, keys, rows, steps_.point(), now, copies);
}

std::optional<Status> WorkerCore::PushHere(TableId table, std::span<const Key> keys, std::span<const float> gradients) {
  if (!ending_.takes_calls()) return std::nullopt;
  return rows_.PushHere(table, keys, gradients, steps_.gate().clock());
}

void WorkerCore::Begin(const LocalizeCall& call, MonotonicTime now, WorkerOutputs& out) {
  if (!rows_.Localize(call, now, out)) return;
  if (cluster_.admitted() && cluster_.IsConnected(kCoordinator)) SendJoin(now, out);
}

// Not at once: the caller that asked is not ready before the end of its step.
void WorkerCore::AnswerSelf(MonotonicTime now, WorkerOutputs& out) {
  if (Status lost = rows_.own().TakeLost(); !lost.ok()) LoseSession(std::move(lost), out);
  while (ending_.lost().ok()) {
    auto answer = rows_.own().NextAnswer();
    if (!answer) return;
    std::visit([&](auto&& body) { OnMessage(answer->first, std::forward<decltype(body)>(body), now, out); },
               std::move(answer->second));
  }
}

// --- joining and steps

void WorkerCore::Begin(JoinCall call, MonotonicTime, WorkerOutputs& out) {
  calls_.Open(call.call, call.deadline, "joining the job");
  wake_.By(call.deadline);
  joining_.Wait(call.call);
  CompleteJoin(out);
}

void WorkerCore::CompleteJoin(WorkerOutputs& out) {
  if (const auto call = joining_.TakeReady(steps_.gate().in_step())) calls_.End(*call, OkStatus(), {}, out);
}

void WorkerCore::Begin(StepCall call, MonotonicTime now, WorkerOutputs& out) {
  const StepGate& gate = steps_.gate();
  if (gate.in_step()) rows_.fetches().StepEnded(now);
  if (steps_.End(call.samples, call.loss, rows_.pushes().window()).report) SendHeartbeat(now, out);
  if (call.call != CallId()) {
    calls_.OpenStep(call.call, call.deadline, "beginning step " + std::to_string(gate.clock()));
  }
  BeginStep(now, out);
  if (calls_.waits_for_step()) wake_.By(call.deadline);
}

void WorkerCore::BeginStep(MonotonicTime now, WorkerOutputs& out) {
  if (!heartbeats_.MayAct(now)) return;  // its data may be with others already
  const WorkerSteps::Outcome outcome = steps_.TryBegin(rows_.pushes().window());
  if (outcome.report) SendHeartbeat(now, out);
  if (!outcome.begun) return;
  rows_.fetches().StepBegan(steps_.point(), now, out);
  CompleteJoin(out);
  calls_.EndSteps(out);
}

void WorkerCore::OnMessage(NodeId, SyncUpdate&& message, MonotonicTime now, WorkerOutputs& out) {
  const WorkerSteps::News news = steps_.Adopt(message.sync);
  if (news == WorkerSteps::News::kNone) return;
  rows_.replicas().Renew(steps_.point());
  if (news == WorkerSteps::News::kNewHold) SendHeartbeat(now, out);
  BeginStep(now, out);
}

}  // namespace attune::ps
