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
      locations_(options_.locations_max) {
  options_.pushes_in_flight_max = std::clamp(options_.pushes_in_flight_max, 1U, kPushWindowMax);
}

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

bool WorkerCore::Connected(NodeId peer) const {
  const auto it = peers_.find(peer);
  return it != peers_.end() && it->second.connected;
}

void WorkerCore::On(Received input, MonotonicTime now, WorkerOutputs& out) {
  if (!lost_.ok() || left_) return;
  if (rights_.Refuses(input.message, input.from, PartyOf(input.from, map_), out.rejected)) return;
  if (const auto* at = std::get_if<CoordinatorAt>(&input.message)) return OnCoordinatorAt(input.from, *at, out);
  if (input.from == kCoordinator && input.term != 0) {
    if (!notices_.IsNear(term_, input.term)) return;
    if (input.term < term_ && !options_.mutations.old_term_not_refused) return;
    term_ = std::max(term_, input.term);
  }
  if (IsRowMessage(input.message)) {
    if (!IsAnswer(input.message)) return OnRowMessage(std::move(input), now, out);
    if (MapVersionOf(input.message) > map_.version) {  // nothing sent under a map is handled under an older one
      AskForMap(now, out);
      if (auto* reply = std::get_if<PullReply>(&input.message)) TakeOutOfPlace(input.from, *reply);
      if (held_.size() < kHeldMessagesMax) held_.push_back(std::move(input));
      return;
    }
    if (!map_.Contains(input.from)) return;
  }
  std::visit([&](auto&& body) { OnMessage(input.from, std::move(body), now, out); }, std::move(input.message));
}

// --- connections

void WorkerCore::On(PeerConnected input, MonotonicTime now, WorkerOutputs& out) {
  if (!lost_.ok() || left_) return;
  peers_[input.peer].connected = true;
  if (input.peer == kCoordinator) {
    return SendJoin(now, out);
  }
  links_.Connected(input.peer, now, out.send);
  for (const OpenPush& push : pushes_) {
    if (push.sent && !options_.mutations.no_reissue) SendOpenKeys(push, input.peer, now, out);
  }
  for (auto& [request, pull] : pull_messages_) {
    if (pull.to == input.peer) SendPull(request, pull, now, out);
  }
  CompleteJoin(out);
}

// However long a server or the coordinator is away, the session lives on: calls end by their own deadlines, and only
// the coordinator says who is lost.
void WorkerCore::On(PeerDisconnected input, MonotonicTime now, WorkerOutputs& out) {
  links_.Disconnected(input.peer);
  FreePlacesOf(input.peer, now, out);
  const auto it = peers_.find(input.peer);
  if (it != peers_.end()) it->second.connected = false;
}

void WorkerCore::SendJoin(MonotonicTime now, WorkerOutputs& out) {
  join_sent_ = now;
  if (!map_.formed()) node_ = NodeId();  // given by a coordinator that may have been lost before the job had formed
  if (node_ == NodeId()) WakeBy(now + options_.reissue_after);
  out.send.push_back({.to = kCoordinator,
                      .message = Join{.incarnation = options_.incarnation,
                                      .job_uid = options_.job_uid,
                                      .role = Role::kWorker,
                                      .index = options_.index,
                                      .address = options_.address,
                                      .takes_rows = takes_rows_wanted_,
                                      .node = node_,
                                      .term = term_}});
}

void WorkerCore::OnMessage(NodeId, Welcome&& message, MonotonicTime now, WorkerOutputs& out) {
  servers_expected_ = message.servers_expected;
  servers_joined_ = message.servers_joined;
  if (node_ == NodeId()) {
    node_ = message.node;
    rows_.SetSelf(node_);
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
  if (map.version <= map_.version || node_ == NodeId()) return;
  if (map_.formed() && map.shard_count() != map_.shard_count()) {
    return out.rejected.push_back({kCoordinator, "a map of " + std::to_string(map.shard_count()) +
                                                     " shards in a job of " + std::to_string(map_.shard_count())});
  }
  if (!map.Contains(node_)) {
    if (leaving_) return;
    return LoseSession(Error(StatusCode::kAborted, "this worker (node " + std::to_string(node_.value()) +
                                                       ") is no longer a member of the job; start it again"),
                       out);
  }
  const auto servers_of = [](const ShardMap& of) {
    std::vector<NodeId> servers;
    for (const Member& member : of.members) {
      if (member.role == Role::kServer) servers.push_back(member.node);
    }
    return servers;
  };
  std::vector<NodeId> servers = servers_of(map);
  const bool homes_changed =
      !std::ranges::equal(map.shards, map_.shards, {}, &Shard::home, &Shard::home) || servers != servers_;
  bool somebody_gone = false;
  for (const NodeId server : servers_) somebody_gone = somebody_gone || !map.Contains(server);
  const bool recovered = map.recovered_at > map_.version;
  takes_rows_ = map.Find(node_)->takes_rows;
  const ShardMap old = std::exchange(map_, std::move(map));
  ConnectMembers(old, out);
  std::erase_if(peers_, [&](const auto& entry) { return entry.first != kCoordinator && !map_.Contains(entry.first); });
  if (homes_changed) {
    homes_version_ = map_.version;
    servers_ = std::move(servers);
    for (const Member& member : map_.members) {
      if (member.role == Role::kServer) peers_.try_emplace(member.node);
    }
    home_ordinal_.resize(map_.shards.size());
    for (size_t shard = 0; shard < map_.shards.size(); ++shard) {
      home_ordinal_[shard] =
          static_cast<uint16_t>(std::ranges::lower_bound(servers_, map_.shards[shard].home) - servers_.begin());
    }
    CompleteJoin(out);
  }
  AdoptRows(now, out);
  for (const auto& [from, notice] : notices_.TakeEarly()) OnCoordinatorAt(from, notice, out);
  if (somebody_gone || recovered) Reissue(now, out);
  for (Received& held : std::exchange(held_, {})) On(std::move(held), now, out);
}

// A node is gone, with what it had in hand: whatever is open is issued again, to the homes of today.
void WorkerCore::Reissue(MonotonicTime now, WorkerOutputs& out) {
  if (options_.mutations.row == RowMutation::kNoReissueAtRecovery) return;
  for (const OpenPush& push : pushes_) {
    if (push.sent && push.open > 0) SendOpenKeys(push, {}, now, out);
  }
  for (auto& [request, pull] : pull_messages_) {
    pull.to = map_.HomeOf(pull.keys[0]);  // it sends on what belongs elsewhere
    SendPull(request, pull, now, out);
  }
  for (const auto& [id, open] : localizes_) {
    if (open.begun) SendLocalize(open, now, out);
  }
}

void WorkerCore::AskForMap(MonotonicTime now, WorkerOutputs& out) {
  if (!Connected(kCoordinator) || now < map_asked_ + options_.reissue_after) return;
  map_asked_ = now;
  out.send.push_back({.to = kCoordinator, .message = MapRequest{.have = map_.version}});
}

// --- heartbeat, goal, end

void WorkerCore::SendHeartbeat(MonotonicTime now, WorkerOutputs& out) {
  next_heartbeat_ = now + options_.heartbeat_interval;
  WakeBy(next_heartbeat_);
  if (!Connected(kCoordinator)) return;
  out.send.push_back({.to = kCoordinator, .message = NextHeartbeat()});
  lease_.Sent(heartbeat_, now);
  SendReport(out);
}

Heartbeat WorkerCore::NextHeartbeat() {
  Heartbeat heartbeat{.number = ++heartbeat_,
                      .map_version = map_.version,
                      .steps = steps_.settled_steps(),
                      .clock = steps_.settled_clock(),
                      .begun = gate_.begun(),
                      .promised = gate_.promise(),
                      .loss_sum = steps_.loss_sum(),
                      .loss_samples = steps_.loss_samples(),
                      .samples = steps_.samples(),
                      .acked_below = AckedBelow(),
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
    if (!Connected(member) && unreached.size() < kUnreachedMax) unreached.push_back(member);
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
  const std::optional<std::string> address = notices_.Check(from, message, map_, term_);
  if (!address) return;
  term_ = message.term;
  out.coordinator = CoordinatorPlace{.term = message.term, .address = CoordinatorAddress(*address, message.port)};
}

void WorkerCore::OnMessage(NodeId, Promise&&, MonotonicTime, WorkerOutputs& out) {
  out.send.push_back(
      {.to = kCoordinator,
       .message =
           Promised{.map = map_, .standing = NextHeartbeat(), .sync = gate_.state(), .tables = {}, .mirror = {}}});
}

void WorkerCore::OnMessage(NodeId, GoalReached&& message, MonotonicTime, WorkerOutputs& out) {
  if (std::exchange(goal_reached_, true)) return;
  out.goal_reached = std::move(message.reason);
}

void WorkerCore::LoseSession(Status status, WorkerOutputs& out) {
  if (!lost_.ok()) return;
  lost_ = status;
  for (OpenPush& push : pushes_) {
    if (std::exchange(push.call_open, false)) {
      out.completions.push_back({.call = push.call, .status = status, .result = {}});
    }
  }
  for (const auto& [call, pull] : pulls_) out.completions.push_back({.call = call, .status = status, .result = {}});
  for (const auto& [call, open] : calls_) out.completions.push_back({.call = call, .status = status, .result = {}});
  for (const auto& [id, open] : localizes_) {
    out.completions.push_back({.call = open.call, .status = status, .result = open.result});
  }
  localizes_.clear();
  to_self_.clear();
  pushes_.clear();
  pulls_.clear();
  pull_messages_.clear();
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
  EndOverdueLocalizes(now, out);
  rows_.OnTimer(now);
  links_.OnTimer(now, out.send);
  SendAgain(now, out);
  if (node_ != NodeId()) {
    if (now >= next_heartbeat_) SendHeartbeat(now, out);
    WakeBy(next_heartbeat_);
  }
}

// The program has stood still with this process: its calls get the time they would have had (base/pause_watch.h).
void WorkerCore::SkipPause(MonotonicTime now) {
  const Duration pause = PausedFor(next_heartbeat_, now, options_.heartbeat_interval);
  if (pause == Duration::zero()) return;
  for (OpenPush& push : pushes_) push.deadline = MovedBy(pause, push.deadline);
  for (auto& [call, pull] : pulls_) pull.deadline = MovedBy(pause, pull.deadline);
  for (auto& [call, open] : calls_) open.deadline = MovedBy(pause, open.deadline);
  for (auto& [id, open] : localizes_) open.deadline = MovedBy(pause, open.deadline);
  for (auto& [request, open] : requests_.open()) open.deadline = MovedBy(pause, open.deadline);
}

void WorkerCore::EndOverdueCalls(MonotonicTime now, WorkerOutputs& out) {
  for (OpenPush& push : pushes_) {
    if (!push.call_open) continue;
    if (now < push.deadline) {
      WakeBy(push.deadline);
      continue;
    }
    push.call_open = false;
    out.completions.push_back(
        {.call = push.call,
         .status = Error(StatusCode::kDeadlineExceeded,
                         "push of " + std::to_string(push.keys.size()) + " keys: " + std::to_string(push.open) +
                             " are not acknowledged yet; the outcome is open, the session keeps sending"),
         .result = {}});
  }
  std::vector<CallId> overdue;
  for (const auto& [call, pull] : pulls_) {
    if (now < pull.deadline) {
      WakeBy(pull.deadline);
    } else if (!options_.mutations.ignore_pull_deadline) {
      overdue.push_back(call);
    }
  }
  for (const CallId call : overdue) EndPull(call, PullTimeout(call), out);

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

Status WorkerCore::PullTimeout(CallId call) const {
  const OpenPull& pull = pulls_.at(call);
  std::string text = "pull: no answer from";
  const char* separator = " ";
  std::vector<NodeId> silent;
  for (const RequestId request : pull.messages) {
    const auto it = pull_messages_.find(request);
    if (it != pull_messages_.end() && std::ranges::find(silent, it->second.to) == silent.end()) {
      silent.push_back(it->second.to);
      text += separator + Describe(map_, it->second.to);
      separator = ", ";
    }
  }
  return Error(StatusCode::kDeadlineExceeded, text + " within the call's time; try again");
}

std::string WorkerCore::WhatIsMissing() const {
  if (!Connected(kCoordinator)) return "the coordinator is not reachable; see the log of server 0";
  if (node_ == NodeId()) return "the coordinator has not answered";
  if (!map_.formed()) {
    return std::to_string(servers_joined_) + " of " + std::to_string(servers_expected_) +
           " servers have joined; see the logs of the missing ones";
  }
  for (const NodeId server : servers_) {
    if (!Connected(server)) return Describe(map_, server) + " is not reachable; see its log";
  }
  if (!pushes_.empty()) return std::to_string(pushes_.size()) + " pushes are not acknowledged yet";
  return "no answer within the call's time; try again";
}

void WorkerCore::SendAgain(MonotonicTime now, WorkerOutputs& out) {
  if (node_ == NodeId()) {
    if (Connected(kCoordinator)) {
      if (now >= join_sent_ + options_.reissue_after) SendJoin(now, out);
      WakeBy(join_sent_ + options_.reissue_after);
    }
    return;
  }
  if (takes_rows_wanted_ && !takes_rows_ && Connected(kCoordinator)) {
    if (now >= join_sent_ + options_.reissue_after) SendJoin(now, out);
    WakeBy(join_sent_ + options_.reissue_after);
  }
  for (OpenPush& push : pushes_) {
    if (!push.sent) break;
    if (now >= push.send_again && push.open > 0) {
      SendOpenKeys(push, {}, now, out);
      push.backoff = NextBackoff(push.backoff);
      push.send_again = now + push.backoff;
    }
    if (push.open > 0) WakeBy(push.send_again);
  }
  for (auto& [request, pull] : pull_messages_) {
    if (now >= pull.send_again) {
      pull.to = map_.HomeOf(pull.keys[0]);
      SendPull(request, pull, now, out);
      pull.backoff = NextBackoff(pull.backoff);
      pull.send_again = now + pull.backoff;
    }
    WakeBy(pull.send_again);
  }
  for (auto& [request, open] : requests_.open()) {
    if (now >= open.send_again) {
      if (Connected(kCoordinator)) {
        out.send.push_back({.to = kCoordinator, .message = requests_.Stamped(request, now)});
      }
      open.backoff = NextBackoff(open.backoff);
      open.send_again = now + open.backoff;
    }
    WakeBy(open.send_again);
  }
}

}  // namespace attune::ps
