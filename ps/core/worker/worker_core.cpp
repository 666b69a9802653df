#include "ps/core/worker/worker_core.h"

#include <algorithm>
#include <utility>

#include "base/pause_watch.h"

namespace attune::ps {

namespace {

RowOptions OptionsOfRows(const WorkerOptions& options) {
  RowOptions rows;
  rows.snapshots_go_home = true;
  rows.create_store = options.create_store;
  rows.row_memory = options.row_memory;
  rows.rows_per_message_max = std::min(rows.rows_per_message_max, options.keys_per_message_max);
  rows.mutation = options.mutations.row;
  return rows;
}

}  // namespace

WorkerCore::WorkerCore(WorkerOptions options)
    : options_(std::move(options)),
      rows_(OptionsOfRows(options_)),
      links_(WithMutations(options_.link, options_.mutations.link)),
      locations_(options_.locations_max),
      pushes_({.in_flight_max = std::clamp(options_.pushes_in_flight_max, 1U, kPushWindowMax),
               .resend_after = options_.reissue_after,
               .resend_after_max = options_.reissue_after_max,
               .acked_below_skips_open = options_.mutations.acked_below_skips_open,
               .no_resend = options_.mutations.no_reissue}),
      pulls_({.resend_after = options_.reissue_after,
              .resend_after_max = options_.reissue_after_max,
              .place_every_answer = options_.mutations.place_every_answer,
              .ignore_deadline = options_.mutations.ignore_pull_deadline}),
      localizes_({.keys_per_message_max = std::min(options_.keys_per_message_max, kKeysPerMessageMax),
                  .resend_after = options_.reissue_after,
                  .resend_after_max = options_.reissue_after_max,
                  .row_bytes_max = options_.row_bytes_max}) {}

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
  return std::min({next_wake_, rows_.WakeAt(), links_.WakeAt()});
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
      AskForMap(now, out);
      if (auto* reply = std::get_if<PullReply>(&input.message)) pulls_.TakeOutOfPlace(input.from, *reply);
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
  links_.Connected(input.peer, now, out.send);
  if (!options_.mutations.no_reissue) {
    pushes_.ForEachInFlight([&](const PushWindow::Push& push) { SendOpenKeys(push, input.peer, now, out); });
  }
  pulls_.SendTo(input.peer, PullSender(now), [&](NodeId to, Pull message) { SendPull(to, message, now, out); });
  CompleteJoin(out);
}

// However long a server or the coordinator is away, the session lives on: calls end by their own deadlines, and only
// the coordinator says who is lost.
void WorkerCore::On(PeerDisconnected input, MonotonicTime now, WorkerOutputs& out) {
  links_.Disconnected(input.peer);
  // Nothing is received over the connection any more.
  for (const RequestId request : pulls_.PlacedBy(input.peer)) On(RowsRevoked{request}, now, out);
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
                                      .takes_rows = takes_rows_wanted_,
                                      .node = cluster_.self(),
                                      .term = term_}});
}

void WorkerCore::OnMessage(NodeId, Welcome&& message, MonotonicTime now, WorkerOutputs& out) {
  servers_expected_ = message.servers_expected;
  servers_joined_ = message.servers_joined;
  if (!cluster_.admitted()) {
    cluster_.SetSelf(message.node);
    rows_.SetSelf(message.node);
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
  takes_rows_ = cluster_.map().Find(cluster_.self())->takes_rows;
  ConnectMembers(change.gone, out);
  if (change.homes_changed) CompleteJoin(out);
  AdoptRows(now, out);
  for (const auto& [from, notice] : notices_.TakeEarly()) OnCoordinatorAt(from, notice, out);
  if (change.server_gone || change.recovered) Reissue(now, out);
  for (Received& held : std::exchange(held_, {})) On(std::move(held), now, out);
}

// A node is gone, with what it had in hand: whatever is open is issued again, to the homes of today.
void WorkerCore::Reissue(MonotonicTime now, WorkerOutputs& out) {
  if (options_.mutations.row == RowMutation::kNoReissueAtRecovery) return;
  pushes_.ForEachInFlight([&](const PushWindow::Push& push) { SendOpenKeys(push, {}, now, out); });
  pulls_.SendAll(PullSender(now), [&](NodeId to, Pull message) { SendPull(to, message, now, out); });
  localizes_.SendAll([&](TableId table, Slice<Key> keys) { SendLocalize(table, std::move(keys), now, out); });
}

void WorkerCore::AskForMap(MonotonicTime now, WorkerOutputs& out) {
  if (!cluster_.IsConnected(kCoordinator) || now < map_asked_ + options_.reissue_after) return;
  map_asked_ = now;
  out.send.push_back({.to = kCoordinator, .message = MapRequest{.have = cluster_.map().version}});
}

// --- heartbeat, goal, end

void WorkerCore::SendHeartbeat(MonotonicTime now, WorkerOutputs& out) {
  next_heartbeat_ = now + options_.heartbeat_interval;
  WakeBy(next_heartbeat_);
  if (!cluster_.IsConnected(kCoordinator)) return;
  out.send.push_back({.to = kCoordinator, .message = NextHeartbeat()});
  lease_.Sent(heartbeat_, now);
  SendReport(out);
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
                      .acked_below = pushes_.AckedBelow(),
                      .leases = {},
                      .unreached = Unreached()};
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

std::vector<NodeId> WorkerCore::Unreached() const {
  std::vector<NodeId> unreached;
  for (const NodeId member : dialed_) {
    if (!cluster_.IsConnected(member) && unreached.size() < kUnreachedMax) unreached.push_back(member);
  }
  return unreached;
}

void WorkerCore::OnMessage(NodeId, HeartbeatAck&& message, MonotonicTime now, WorkerOutputs& out) {
  lease_.Answered(message.number, message.liveness);
  TakeUpWhatWaited(now, out);
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
  pushes_.EndAll(status, out.completions);
  pulls_.EndAll(status, out.completions);
  for (const auto& [call, open] : calls_) out.completions.push_back({.call = call, .status = status, .result = {}});
  localizes_.EndAll(status, out.completions);
  to_self_.clear();
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
  WakeBy(localizes_.EndOverdue(now, silence, out.completions));
  WakeBy(localizes_.SendAgain(now,
                              [&](TableId table, Slice<Key> keys) { SendLocalize(table, std::move(keys), now, out); }));
  rows_.OnTimer(now);
  links_.OnTimer(now, out.send);
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
  pushes_.Postpone(pause);
  pulls_.Postpone(pause);
  for (auto& [call, open] : calls_) open.deadline = MovedBy(pause, open.deadline);
  localizes_.Postpone(pause);
  for (auto& [request, open] : requests_.open()) open.deadline = MovedBy(pause, open.deadline);
}

void WorkerCore::EndOverdueCalls(MonotonicTime now, WorkerOutputs& out) {
  WakeBy(pushes_.EndOverdue(now, out.completions));
  WakeBy(pulls_.EndOverdue(now, cluster_.map(), out.completions));
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
  if (!pushes_.empty()) return std::to_string(pushes_.size()) + " pushes are not acknowledged yet";
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
  if (takes_rows_wanted_ && !takes_rows_ && cluster_.IsConnected(kCoordinator)) {
    if (now >= join_sent_ + options_.reissue_after) SendJoin(now, out);
    WakeBy(join_sent_ + options_.reissue_after);
  }
  WakeBy(pushes_.SendAgain(now, [&](const PushWindow::Push& push) { SendOpenKeys(push, {}, now, out); }));
  WakeBy(pulls_.SendAgain(PullSender(now), [&](NodeId to, Pull message) { SendPull(to, message, now, out); }));
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

}  // namespace attune::ps
