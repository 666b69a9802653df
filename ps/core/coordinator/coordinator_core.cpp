#include "ps/core/coordinator/coordinator_core.h"

#include <algorithm>
#include <utility>

namespace attune::ps {

void CoordinatorOutputs::Clear() {
  send.clear();
  close.clear();
  begin_checkpoint.reset();
  commit_checkpoint.reset();
  command_results.clear();
  events.clear();
  rejected.clear();
  goal_reached.reset();
  superseded = false;
  finished = false;
  failed.reset();
}

CoordinatorCore::CoordinatorCore(CoordinatorOptions options)
    : options_(std::move(options)),
      members_({.liveness_lease = options_.liveness_lease,
                .uncovered_timeout = options_.uncovered_timeout,
                .pause_tolerance = options_.pause_tolerance}),
      links_(options_.link_timeout),
      leadership_({.term = options_.term,
                   .may_be_followed = options_.may_be_followed,
                   .host_index = options_.host_index,
                   .leader_lease = options_.leader_lease,
                   .liveness_lease = options_.liveness_lease,
                   .uncovered_timeout = options_.uncovered_timeout,
                   .mutations = options_.mutations}),
      takeover_({.host_index = options_.host_index,
                 .leader_lease = options_.leader_lease,
                 .liveness_lease = options_.liveness_lease,
                 .uncovered_timeout = options_.uncovered_timeout,
                 .report_after = options_.straggler_after,
                 .confirmed = options_.voters,
                 .mutations = options_.mutations}),
      mirror_(options_.term),
      tables_(options_.load, options_.load_timeout),
      cuts_(options_.term, options_.mark_timeout, options_.mutations),
      data_sets_(options_.term),
      clocks_(options_.term, options_.synchronization),
      training_(options_.goal, options_.loss_window) {
  options_.servers = std::max(1U, options_.servers);
  options_.shards = std::clamp(options_.shards, options_.servers, kShardsMax);
  placement_.Want(options_.servers);
  if (options_.takeover) phase_ = Phase::kTakingOver;
  if (options_.resume) {
    clocks_.Restore(options_.synchronization, options_.resume->clock);
    members_.SetStepsOfGone(options_.resume->steps);
    training_.ResumeFrom(*options_.resume);
  }
  recoveries_.SetNewest(options_.load, options_.resume ? options_.resume->steps : 0);
}

void CoordinatorCore::Step(CoordinatorInput input, MonotonicTime now, CoordinatorOutputs& out) {
  if (superseded_) return;
  const bool first = times_.Step(now, options_.check_interval, options_.send_again_after);
  now = times_.now();
  if (first) {
    takeover_.Begin(now);
    training_.Begin(now);
  }
  SkipPause(now, out);
  std::visit([&](auto&& body) { On(std::move(body), now, out); }, std::move(input));
  if (times_.CheckIsDue()) On(CoordinatorTimer{}, now, out);
  AnswerTableWaiters(tables_.StopWaitingForTheGone([this](NodeId id) { return members_.contains(id); }), out);
  if (superseded_) return out.Clear(), void(out.superseded = true);
  if (TakingOver()) {
    AnswerGoneOrders(now, out);
    return GoOnWithTakeover(now, out);
  }
  if (leadership_.Held(now)) {  // else another coordinator may be at work
    GoOnWithCut(now, out);
    GoOnWithSwitch(now, out);
    SendSync(out);
    GoOnWithPlacement(now, out);
    AnswerGoneOrders(now, out);
  }
  GoOnWithMirror(out);
}

// This process has stood still: what it did not hear meanwhile is no evidence (base/pause_watch.h). Its lease is not
// moved: that runs out while it sleeps.
void CoordinatorCore::SkipPause(MonotonicTime now, CoordinatorOutputs& out) {
  const Duration pause = times_.Paused(options_.pause_tolerance);
  if (pause == Duration::zero() || options_.mutations.late_step_is_evidence) return;
  members_.SkipPause(pause, now);
  links_.Forgive(pause, now);
  tables_.SkipPause(pause);
  cuts_.SkipPause(pause);
  takeover_.SkipPause(pause);
  straggler_.SkipPause(pause);
  out.events.push_back("the coordinator's process stood still for " +
                       std::to_string(static_cast<int64_t>(Seconds(pause))) +
                       " s; that time counts for no member's silence");
}

void CoordinatorCore::Heard(Node& node, MonotonicTime now) {
  if (links_.IsGivenUp(node.member.node)) return;
  const Duration forgiven = members_.NoteHeard(node, leadership_.IsHost(node.member), now);
  if (forgiven > Duration::zero()) links_.Forgive(forgiven, now);
}

MonotonicTime CoordinatorCore::WakeAt() const { return superseded_ ? kNever : times_.next_check(); }

void CoordinatorCore::On(FromConnection input, MonotonicTime now, CoordinatorOutputs& out) {
  if (const auto* join = std::get_if<Join>(&input.message)) return OnJoin(input.from, *join, now, out);
  if (const auto* promised = std::get_if<Promised>(&input.message)) return OnPromised(input.from, *promised, now);
  const std::optional<NodeId> known = members_.NodeAt(input.from);
  if (!known) {
    // It has not introduced itself, or only while this coordinator took over: a new connection begins with Join.
    if (!TakingOver()) out.close.push_back(input.from);
    return;
  }
  Node* node = members_.Find(*known);
  if (node == nullptr) return AnswerGone(input.from, *known, input.message, out);
  if (rights_.Refuses(input.message, *known, PartyOf(node->member.role), out.rejected)) return;
  std::visit([&](const auto& body) { OnMessage(*node, body, now, out); }, input.message);
}

void CoordinatorCore::On(ConnectionClosed input, MonotonicTime, CoordinatorOutputs&) {
  takeover_.NoteClosed(input.connection);
  members_.Close(input.connection);
}

void CoordinatorCore::On(CoordinatorTimer, MonotonicTime now, CoordinatorOutputs& out) {
  times_.Checked(options_.check_interval);
  if (!failed_.ok()) return;
  if (TakingOver()) return AskForPromisesAgain(out);
  CheckLiveness(now, out);
  for (const ConnectionId connection : members_.Expire(now)) out.close.push_back(connection);
  if (!failed_.ok()) return;
  ServeLeases(now, out);  // drops the overdue
  CheckGoals(now, out);
  WatchFloor(now, out);
  AskOpenersToWait(now, out);
  AnswerPlacementOrders(now, out);
  if (times_.TakeAgain(options_.send_again_after)) {
    mirror_.NoteChange();  // positions and losses, which no caller waits for
    for (const auto& [id, node] : members_) {
      if (node.member.role == Role::kServer) SendOpenOrders(node, out);
      SendCutOrder(node, out);
    }
  }
}

void CoordinatorCore::Send(const Node& node, Message message, CoordinatorOutputs& out) {
  if (node.connection) out.send.push_back({.to = *node.connection, .message = std::move(message)});
}

bool CoordinatorCore::TakeUp(Node& node, const RequestHeader& header, CoordinatorOutputs& out) {
  switch (node.requests.Receive(header)) {
    case AnswerBook::Received::kNothingToDo:
      return false;
    case AnswerBook::Received::kAnswered:
      Send(node, node.requests.AnswerTo(header.request), out);
      return false;
    case AnswerBook::Received::kNew:
      break;
  }
  if (node.requests.ManyBehindAWait()) RefuseWaiting(node.member.node, out);
  if (node.requests.IsFull()) {
    Send(node,
         Refused{.request = header.request,
                 .status = Error(StatusCode::kResourceExhausted, std::to_string(kRequestsInFlightMax) +
                                                                     " requests of one node are open; wait for some")},
         out);
    return false;
  }
  node.requests.TakeUp(header.request);
  return true;
}

// A request that waits for long, for an evaluation to become due, keeps its sender from saying that the answers to
// later ones have arrived. It is asked again at once.
void CoordinatorCore::RefuseWaiting(NodeId worker, CoordinatorOutputs& out) {
  for (const RequestId request : data_sets_.TakeWaiting(worker)) {
    Reply(worker, request,
          Refused{.request = request,
                  .status = Error(StatusCode::kDeadlineExceeded, "nothing is free by now; ask again")},
          out);
  }
}

void CoordinatorCore::Reply(NodeId id, RequestId request, Message message, CoordinatorOutputs& out) {
  const bool waits = leadership_.MirrorHost(members_, map_) != nullptr || !leadership_.Held(times_.now());
  Node* node = members_.Find(id);
  if (node == nullptr) return;
  if (waits && !options_.mutations.answer_before_mirror) {
    return mirror_.Hold(
        {.node = id, .connection = node->connection, .request = request, .message = std::move(message)});
  }
  Send(*node, message, out);
  node->requests.Answered(request, std::move(message));
}

// --- heartbeats, clocks and goals

void CoordinatorCore::OnMessage(Node& node, const Heartbeat& message, MonotonicTime now, CoordinatorOutputs& out) {
  if (message.number <= node.last.number) return;
  NoteLinks(node, message, now);
  if (links_.IsGivenUp(node.member.node)) return;
  Heard(node, now);
  if (members_.NoteBack(node)) {  // the last server, and no process has taken its place
    out.events.push_back(members_.Name(node.member.node) + " is back");
  }
  training_.AddLoss(message.loss_sum - node.last.loss_sum,
                    message.loss_samples - std::min(message.loss_samples, node.last.loss_samples));
  node.last = message;
  data_sets_.Advance(node.member.node, message.leases);
  if (node.member.role == Role::kWorker &&
      leadership_.Held(now)) {  // or steps would continue without the next one's workers
    clocks_.Report(node.member.node, message.clock, message.begun, message.promised);
    UpdateCounted(node);
  }
  if (node.member.role == Role::kServer) {
    leadership_.OnSupport(node.member.node, message.supports, message.map_version, times_.now());
    if (leadership_.suspended()) CheckLease(now, out);
  }
  Send(node,
       HeartbeatAck{.number = message.number,
                    .sync = clocks_.state(),
                    .liveness = leadership_.GrantedLiveness(now),
                    .support = leadership_.Ask(node.member.node, node.member.role, times_.now())},
       out);
  if (message.map_version < map_.version) Send(node, MapUpdate{.map = map_}, out);
  if (end_.goal_reached()) Send(node, GoalReached{.reason = end_.goal()}, out);
  if (IsFinished() && node.member.role == Role::kServer) Send(node, Finished{}, out);
  CheckGoals(now, out);
}

void CoordinatorCore::OnMessage(Node& node, const MapRequest& message, MonotonicTime, CoordinatorOutputs& out) {
  if (message.have < map_.version) Send(node, MapUpdate{.map = map_}, out);
}

}  // namespace attune::ps
