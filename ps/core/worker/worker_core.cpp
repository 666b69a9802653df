#include "ps/core/worker/worker_core.h"

#include <algorithm>
#include <utility>

#include "base/pause_watch.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

WorkerCore::WorkerCore(WorkerOptions options)
    : options_(std::move(options)), cluster_(options_.reissue_after), rows_(options_, cluster_, lease_) {}

void WorkerCore::Step(WorkerInput input, MonotonicTime now, WorkerOutputs& out) {
  now = now_ = std::max(now, now_);  // a clock that goes back stands still
  SkipPause(now);
  std::visit([&](auto&& body) { On(std::move(body), now, out); }, std::move(input));
  AnswerSelf(now, out);
  if (now < WakeAt()) return;
  On(Timer{}, now, out);
  AnswerSelf(now, out);
}

MonotonicTime WorkerCore::WakeAt() const {
  if (!lost_.ok() || left_) return kNever;
  return std::min(next_wake_, rows_.WakeAt());
}

void WorkerCore::On(Received input, MonotonicTime now, WorkerOutputs& out) {
  if (!lost_.ok() || left_) return;
  if (rights_.Refuses(input.message, input.from, PartyOf(input.from, cluster_.map()), out.rejected)) return;
  if (const auto* at = std::get_if<CoordinatorAt>(&input.message)) return OnCoordinatorAt(input.from, *at, out);
  if (input.from == kCoordinator && input.term != 0) {
    if (!notices_.IsNear(term_, input.term)) return;
    if (input.term < term_ && !options_.mutations.old_term_not_refused) return;
    term_ = std::max(term_, input.term);
  }
  if (IsRowMessage(input.message)) {
    if (!IsAnswer(input.message)) return OnRowMessage(std::move(input), now, out);
    if (MapVersionOf(input.message) >
        cluster_.map().version) {  // nothing sent under a map is handled under an older one
      cluster_.AskForNewerMap(now, out.send);
      if (auto* reply = std::get_if<PullReply>(&input.message)) rows_.Defer(input.from, *reply);
      if (held_.size() < kHeldMessagesMax) held_.push_back(std::move(input));
      return;
    }
    if (!cluster_.map().Contains(input.from)) return;
  }
  std::visit([&](auto&& body) { OnMessage(input.from, std::move(body), now, out); }, std::move(input.message));
}

// --- connections

void WorkerCore::On(PeerConnected input, MonotonicTime now, WorkerOutputs& out) {
  if (!lost_.ok() || left_) return;
  cluster_.SetConnected(input.peer);
  if (input.peer == kCoordinator) {
    return SendJoin(now, out);
  }
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
  join_sent_ = now;
  if (!cluster_.formed())
    cluster_.SetSelf(NodeId());  // given by a coordinator that may have been lost before the job had formed
  if (!cluster_.admitted()) WakeBy(now + options_.reissue_after);
  out.send.push_back({.to = kCoordinator,
                      .message = Join{.incarnation = options_.incarnation,
                                      .job_uid = options_.job_uid,
                                      .role = Role::kWorker,
                                      .index = options_.index,
                                      .address = options_.address,
                                      .takes_rows = rows_.own().wanted(),
                                      .node = cluster_.self(),
                                      .term = term_}});
}

void WorkerCore::OnMessage(NodeId, Welcome&& message, MonotonicTime now, WorkerOutputs& out) {
  servers_expected_ = message.servers_expected;
  servers_joined_ = message.servers_joined;
  if (!cluster_.admitted()) {
    cluster_.SetSelf(message.node);
    rows_.own().SetSelf(message.node);
    gate_ = StepGate();        // a coordinator that was lost before the job had formed may have said otherwise
    gate_.Join(message.sync);  // a joining member does not hold up those who are far ahead
    steps_.StartAt(gate_.clock());
  }
  SendHeartbeat(now, out);
  for (const auto& [request, open] : requests_.open()) {
    out.send.push_back({.to = kCoordinator, .message = requests_.Stamped(request, now)});
  }
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
    if (leaving_) return;
    return LoseSession(Error(StatusCode::kAborted, "this worker (node " + std::to_string(cluster_.self().value()) +
                                                       ") is no longer a member of the job; start it again"),
                       out);
  }
  const ClusterView::Change change = cluster_.Adopt(std::move(map));
  rows_.AdoptMembers(change.gone, out);
  if (change.homes_changed) CompleteJoin(out);
  rows_.own().AdoptMap(now, out);
  for (const auto& [from, notice] : notices_.TakeEarly()) OnCoordinatorAt(from, notice, out);
  if ((change.server_gone || change.recovered) && options_.mutations.row != RowMutation::kNoReissueAtRecovery) {
    rows_.Reissue(now, out);
  }
  for (Received& held : std::exchange(held_, {})) On(std::move(held), now, out);
}

// --- heartbeat, goal, end

void WorkerCore::SendHeartbeat(MonotonicTime now, WorkerOutputs& out) {
  next_heartbeat_ = now + options_.heartbeat_interval;
  WakeBy(next_heartbeat_);
  if (!cluster_.IsConnected(kCoordinator)) return;
  out.send.push_back({.to = kCoordinator, .message = NextHeartbeat()});
  lease_.Sent(heartbeat_, now);
  rows_.own().Report(out);
}

Heartbeat WorkerCore::NextHeartbeat() {
  Heartbeat heartbeat{.number = ++heartbeat_,
                      .map_version = cluster_.map().version,
                      .steps = steps_.settled_steps(),
                      .clock = steps_.settled_clock(),
                      .begun = gate_.begun(),
                      .promised = gate_.promise(),
                      .loss_sum = steps_.loss_sum(),
                      .loss_samples = steps_.loss_samples(),
                      .samples = steps_.samples(),
                      .acked_below = rows_.pushes().AckedBelow(),
                      .leases = {},
                      .unreached = rows_.own().Unreached()};
  for (const auto& [id, lease] : leases_) heartbeat.leases.push_back({.lease = id, .position = lease.progress.done()});
  // Leases whose end no coordinator has confirmed: a new one may not know of it, and after a broken connection this may
  // arrive before that, with a clock which says that their steps are over.
  for (const auto& [request, open] : requests_.open()) {
    if (options_.mutations.ends_forgotten || heartbeat.leases.size() >= kLeasesPerWorkerMax) break;
    if (const auto* done = std::get_if<LeaseDone>(&open.message)) {
      heartbeat.leases.push_back({.lease = done->lease, .position = UINT64_MAX});
    } else if (const auto* returned = std::get_if<LeaseReturn>(&open.message)) {
      heartbeat.leases.push_back({.lease = returned->lease, .position = returned->position});
    }
  }
  return heartbeat;
}

void WorkerCore::OnMessage(NodeId, HeartbeatAck&& message, MonotonicTime now, WorkerOutputs& out) {
  lease_.Answered(message.number, message.liveness);
  if (lease_.Valid(now)) {
    for (Received& input : fenced_.Take()) On(std::move(input), now, out);
  }
  AdoptSync(message.sync, now, out);
  BeginStep(now, out);
}

// --- another coordinator

void WorkerCore::OnCoordinatorAt(NodeId from, const CoordinatorAt& message, WorkerOutputs& out) {
  if (message.term <= term_) return;
  const std::optional<std::string> address = notices_.Check(from, message, cluster_.map(), term_);
  if (!address) return;
  term_ = message.term;
  out.coordinator = CoordinatorPlace{.term = message.term, .address = CoordinatorAddress(*address, message.port)};
}

void WorkerCore::OnMessage(NodeId, Promise&&, MonotonicTime, WorkerOutputs& out) {
  out.send.push_back(
      {.to = kCoordinator,
       .message = Promised{
           .map = cluster_.map(), .standing = NextHeartbeat(), .sync = gate_.state(), .tables = {}, .mirror = {}}});
}

void WorkerCore::OnMessage(NodeId, GoalReached&& message, MonotonicTime, WorkerOutputs& out) {
  if (std::exchange(goal_reached_, true)) return;
  out.goal_reached = std::move(message.reason);
}

void WorkerCore::LoseSession(Status status, WorkerOutputs& out) {
  if (!lost_.ok()) return;
  lost_ = status;
  rows_.EndAll(status, out);
  for (const auto& [call, open] : calls_) out.completions.push_back({.call = call, .status = status, .result = {}});
  rows_.own().EndCalls(status, out);
  calls_.clear();
  metrics_.Clear();
  leases_.clear();
  flushes_.clear();
  step_calls_.clear();
  next_wake_ = kNever;
  out.lost = std::move(status);
}

// --- time

Duration WorkerCore::NextBackoff(Duration backoff) const { return std::min(backoff * 2, options_.reissue_after_max); }

void WorkerCore::On(Timer, MonotonicTime now, WorkerOutputs& out) {
  next_wake_ = kNever;
  if (!lost_.ok() || left_) return;
  EndOverdueCalls(now, out);
  const auto silence = [&] {
    return cluster_.IsConnected(kCoordinator) ? "the coordinator has not answered" : WhatIsMissing();
  };
  rows_.own().OnTimer(now, silence, out);
  SendAgain(now, out);
  if (cluster_.admitted()) {
    if (now >= next_heartbeat_) SendHeartbeat(now, out);
    WakeBy(next_heartbeat_);
  }
}

// The program has stood still with this process: its calls get the time they would have had (base/pause_watch.h).
void WorkerCore::SkipPause(MonotonicTime now) {
  const Duration pause = PausedFor(next_heartbeat_, now, options_.heartbeat_interval);
  if (pause == Duration::zero()) return;
  rows_.Postpone(pause);
  for (auto& [call, open] : calls_) open.deadline = MovedBy(pause, open.deadline);
  for (auto& [request, open] : requests_.open()) open.deadline = MovedBy(pause, open.deadline);
}

void WorkerCore::EndOverdueCalls(MonotonicTime now, WorkerOutputs& out) {
  rows_.EndOverdue(now, out);
  std::vector<CallId> late;
  for (const auto& [call, open] : calls_) {
    if (now < open.deadline) {
      WakeBy(open.deadline);
    } else {
      late.push_back(call);
    }
  }
  for (const CallId call : late) {
    requests_.Abandon(call.value());
    std::erase_if(flushes_, [&](const Flush& flush) { return flush.call == call; });
    if (join_call_ == call) join_call_.reset();
    const bool step = std::erase(step_calls_, call) > 0;
    EndCall(call,
            Error(StatusCode::kDeadlineExceeded,
                  calls_.at(call).what + ": " + (step ? WhatHoldsTheStep() : WhatIsMissing())),
            {}, out);
  }
}

std::string WorkerCore::WhatIsMissing() const {
  if (!cluster_.IsConnected(kCoordinator)) return "the coordinator is not reachable; see the log of server 0";
  if (!cluster_.admitted()) return "the coordinator has not answered";
  if (!cluster_.formed()) {
    return std::to_string(servers_joined_) + " of " + std::to_string(servers_expected_) +
           " servers have joined; see the logs of the missing ones";
  }
  if (const NodeId server = cluster_.ServerNotConnected(); server != NodeId()) {
    return Describe(cluster_.map(), server) + " is not reachable; see its log";
  }
  if (open_pushes() > 0) return std::to_string(open_pushes()) + " pushes are not acknowledged yet";
  return "no answer within the call's time; try again";
}

void WorkerCore::SendAgain(MonotonicTime now, WorkerOutputs& out) {
  if (!cluster_.admitted()) {
    if (cluster_.IsConnected(kCoordinator)) {
      if (now >= join_sent_ + options_.reissue_after) SendJoin(now, out);
      WakeBy(join_sent_ + options_.reissue_after);
    }
    return;
  }
  if (rows_.own().wants_permission() && cluster_.IsConnected(kCoordinator)) {
    if (now >= join_sent_ + options_.reissue_after) SendJoin(now, out);
    WakeBy(join_sent_ + options_.reissue_after);
  }
  rows_.SendAgain(now, out);
  for (auto& [request, open] : requests_.open()) {
    if (now >= open.send_again) {
      if (cluster_.IsConnected(kCoordinator)) {
        out.send.push_back({.to = kCoordinator, .message = requests_.Stamped(request, now)});
      }
      open.backoff = NextBackoff(open.backoff);
      open.send_again = now + open.backoff;
    }
    WakeBy(open.send_again);
  }
}

// --- rows

// acked_below has risen: what waited for it.
void WorkerCore::AfterPushesSettled(MonotonicTime now, WorkerOutputs& out) {
  const SequenceNumber settled = rows_.pushes().SettledBelow();
  std::erase_if(flushes_, [&](const Flush& flush) {
    if (flush.after > settled) return false;
    EndCall(flush.call, OkStatus(), {}, out);
    return true;
  });
  std::vector<LeaseId> with_marks;
  for (auto& [id, lease] : leases_) {
    if (lease.progress.CanSettle(settled)) with_marks.push_back(id);
  }
  std::ranges::sort(with_marks);  // the table's order is not the same everywhere
  for (const LeaseId id : with_marks) ReportLease(id, leases_.at(id), now, out);
  SettleSteps(now, out);  // after the leases: one heartbeat says both
  LeaveWhenSettled(now, out);
  rows_.SendWaitingPushes(now, out);
}

bool WorkerCore::PullHere(TableId table, std::span<const Key> keys, std::span<float> rows) {
  return lost_.ok() && !leaving_ && rows_.PullHere(table, keys, rows);
}

std::optional<Status> WorkerCore::PushHere(TableId table, std::span<const Key> keys, std::span<const float> gradients) {
  if (!lost_.ok() || leaving_) return std::nullopt;
  return rows_.PushHere(table, keys, gradients, gate_.clock());
}

void WorkerCore::On(PushCall call, MonotonicTime now, WorkerOutputs& out) {
  if (!Refuse(call.call, out)) rows_.Push(std::move(call), gate_.clock(), now, out);
}

void WorkerCore::On(LocalizeCall call, MonotonicTime now, WorkerOutputs& out) {
  if (Refuse(call.call, out) || !rows_.Localize(call, now, out)) return;
  if (cluster_.admitted() && cluster_.IsConnected(kCoordinator)) SendJoin(now, out);
}

void WorkerCore::OnRowMessage(Received input, MonotonicTime now, WorkerOutputs& out) {
  if (!cluster_.admitted()) return;
  if (!lease_.Valid(now)) return fenced_.Keep(std::move(input));  // others may have taken its place
  rows_.own().Receive(std::move(input), now, out);
}

// Not at once: the caller that asked is not ready before the end of its step.
void WorkerCore::AnswerSelf(MonotonicTime now, WorkerOutputs& out) {
  if (Status lost = rows_.own().TakeLost(); !lost.ok()) LoseSession(std::move(lost), out);
  while (lost_.ok()) {
    std::optional<Message> answer = rows_.own().NextAnswer();
    if (!answer) return;
    std::visit([&](auto&& body) { OnMessage(cluster_.self(), std::move(body), now, out); }, *std::move(answer));
  }
}

}  // namespace attune::ps
