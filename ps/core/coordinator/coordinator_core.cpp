#include "ps/core/coordinator/coordinator_core.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/pause_watch.h"

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
      tables_(options_.load, options_.load_timeout),
      data_sets_(options_.term),
      links_(options_.link_timeout),
      mirror_(options_.term),
      takeover_({.host_index = options_.host_index,
                 .leader_lease = options_.leader_lease,
                 .liveness_lease = options_.liveness_lease,
                 .uncovered_timeout = options_.uncovered_timeout,
                 .report_after = options_.straggler_after,
                 .confirmed = options_.voters,
                 .mutations = options_.mutations}),
      leadership_({.term = options_.term,
                   .may_be_followed = options_.may_be_followed,
                   .host_index = options_.host_index,
                   .leader_lease = options_.leader_lease,
                   .liveness_lease = options_.liveness_lease,
                   .uncovered_timeout = options_.uncovered_timeout,
                   .mutations = options_.mutations}),
      cuts_(options_.term, options_.mark_timeout, options_.mutations),
      clocks_(options_.term, options_.synchronization),
      loss_(options_.loss_window),
      metrics_(options_.goal.target_metric, options_.goal.early_stopping, options_.goal.best_checkpoint),
      best_(options_.goal.best_checkpoint),
      evaluations_(options_.goal.evaluate_every_epochs, options_.goal.evaluate_every_steps) {
  options_.servers = std::max(1U, options_.servers);
  options_.shards = std::clamp(options_.shards, options_.servers, kShardsMax);
  placement_.Want(options_.servers);
  if (options_.takeover) phase_ = Phase::kTakingOver;
  if (options_.resume) {
    clocks_.Restore(options_.synchronization, options_.resume->clock);
    steps_of_gone_ = options_.resume->steps;
    metrics_.Continue(options_.resume->metrics);
    best_.Restore(options_.resume->best);
    // A manifest is a file; what others are sent of it is what counts here.
    options_.resume->metrics = metrics_.states();
    options_.resume->best = best_.kept();
  }
  recoveries_.SetNewest(options_.load, options_.resume ? options_.resume->steps : 0);
}

void CoordinatorCore::Step(CoordinatorInput input, MonotonicTime now, CoordinatorOutputs& out) {
  if (superseded_) return;
  now = now_ = std::max(now, now_);  // a clock that goes back stands still
  if (next_check_ == kNever) {
    takeover_.Begin(now);
    next_check_ = now + options_.check_interval;
    next_again_ = now + options_.send_again_after;
    loss_.Begin(now);
  }
  SkipPause(now, out);
  std::visit([&](auto&& body) { On(std::move(body), now, out); }, std::move(input));
  if (now >= next_check_) On(CoordinatorTimer{}, now, out);
  AnswerTableWaiters(tables_.StopWaitingForTheGone([this](NodeId id) { return nodes_.contains(id); }), out);
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
  const Duration pause = PausedFor(next_check_, now, options_.pause_tolerance);
  if (pause == Duration::zero() || options_.mutations.late_step_is_evidence) return;
  ForgiveSilence(pause);
  others_heard_ = MovedBy(pause, others_heard_);
  tables_.SkipPause(pause);
  cuts_.SkipPause(pause);
  last_server_lost_ = MovedBy(pause, last_server_lost_);
  takeover_.SkipPause(pause);
  straggler_.SkipPause(pause);
  out.events.push_back("the coordinator's process stood still for " +
                       std::to_string(static_cast<int64_t>(Seconds(pause))) +
                       " s; that time counts for no member's silence");
}

void CoordinatorCore::ForgiveSilence(Duration time) {
  for (auto& [id, node] : nodes_) {
    node.silent_since = std::min(now_, MovedBy(time, node.silent_since));
    if (node.said_gone && !node.proven_gone) node.said_gone = std::min(now_, MovedBy(time, *node.said_gone));
  }
  links_.Forgive(time, now_);
}

// While no other member at all is heard it is this process that is cut off, or its machine that starves: those that
// come back a moment later than the first have been no more silent than that one.
void CoordinatorCore::Heard(Node& node, MonotonicTime now) {
  if (links_.IsGivenUp(node.member.node)) return;
  if (!leadership_.IsHost(node.member)) {
    const Duration unheard = others_heard_ == kNever ? Duration::zero() : now - others_heard_;
    if (unheard > options_.pause_tolerance) ForgiveSilence(unheard);
    others_heard_ = now;
  }
  node.silent_since = now;
  node.said_gone.reset();  // that was another process
}

MonotonicTime CoordinatorCore::WakeAt() const { return superseded_ ? kNever : next_check_; }

void CoordinatorCore::On(FromConnection input, MonotonicTime now, CoordinatorOutputs& out) {
  if (const auto* join = std::get_if<Join>(&input.message)) return OnJoin(input.from, *join, now, out);
  if (const auto* promised = std::get_if<Promised>(&input.message)) return OnPromised(input.from, *promised, now);
  const auto known = connections_.find(input.from);
  if (known == connections_.end()) {
    // It has not introduced itself, or only while this coordinator took over: a new connection begins with Join.
    if (!TakingOver()) out.close.push_back(input.from);
    return;
  }
  Node* node = Find(known->second);
  if (node == nullptr) return AnswerGone(input.from, known->second, input.message, out);
  if (rights_.Refuses(input.message, known->second, PartyOf(node->member.role), out.rejected)) return;
  std::visit([&](const auto& body) { OnMessage(*node, body, now, out); }, input.message);
}

void CoordinatorCore::On(ConnectionClosed input, MonotonicTime, CoordinatorOutputs&) {
  takeover_.NoteClosed(input.connection);
  const auto known = connections_.find(input.connection);
  if (known == connections_.end()) return;
  if (Node* node = Find(known->second); node != nullptr && node->connection == input.connection) {
    node->connection.reset();
  }
  connections_.erase(known);
}

void CoordinatorCore::On(CoordinatorTimer, MonotonicTime now, CoordinatorOutputs& out) {
  next_check_ = now + options_.check_interval;
  if (!failed_.ok()) return;
  if (TakingOver()) return AskForPromisesAgain(now, out);
  CheckLiveness(now, out);
  ForgetGone(now, out);
  if (!failed_.ok()) return;
  ServeLeases(now, out);  // drops the overdue
  CheckGoals(now, out);
  WatchFloor(now, out);
  AskOpenersToWait(now, out);
  AnswerPlacementOrders(now, out);
  if (now >= next_again_) {
    next_again_ = now + options_.send_again_after;
    mirror_.NoteChange();  // positions and losses, which no caller waits for
    for (const auto& [id, node] : nodes_) {
      if (node.member.role == Role::kServer) SendOpenOrders(node, out);
      SendCutOrder(node, out);
    }
  }
}

CoordinatorCore::Node* CoordinatorCore::Find(NodeId id) {
  const auto it = nodes_.find(id);
  return it == nodes_.end() ? nullptr : &it->second;
}

std::string CoordinatorCore::Name(NodeId id) const {
  const auto it = nodes_.find(id);
  if (it == nodes_.end()) return "node " + std::to_string(id.value());
  return (it->second.member.role == Role::kServer ? "server " : "worker ") + std::to_string(it->second.member.index) +
         " (node " + std::to_string(id.value()) + ")";
}

void CoordinatorCore::Send(const Node& node, Message message, CoordinatorOutputs& out) {
  if (node.connection) out.send.push_back({.to = *node.connection, .message = std::move(message)});
}

bool CoordinatorCore::TakeUp(Node& node, const RequestHeader& header, CoordinatorOutputs& out) {
  node.answered_below = std::max(node.answered_below, header.answered_below);
  node.answers.erase(node.answers.begin(), node.answers.upper_bound(node.answered_below));
  if (header.request <= node.answered_below || node.pending.contains(header.request)) return false;
  if (const auto given = node.answers.find(header.request); given != node.answers.end()) {
    Send(node, given->second, out);
    return false;
  }
  if (node.answers.size() >= kAnswersBehindAWait) RefuseWaiting(node.member.node, out);
  if (node.pending.size() + node.answers.size() >= kRequestsInFlightMax) {
    Send(node,
         Refused{.request = header.request,
                 .status = Error(StatusCode::kResourceExhausted, std::to_string(kRequestsInFlightMax) +
                                                                     " requests of one node are open; wait for some")},
         out);
    return false;
  }
  node.pending.insert(header.request);
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
  const bool waits = MirrorHost() != nullptr || !leadership_.Held(now_);
  Node* node = Find(id);
  if (node == nullptr) return;
  if (waits && !options_.mutations.answer_before_mirror) {
    return mirror_.Hold(
        {.node = id, .connection = node->connection, .request = request, .message = std::move(message)});
  }
  node->pending.erase(request);
  Send(*node, message, out);
  node->answers.insert_or_assign(request, std::move(message));
}

// --- heartbeats, clocks and goals

void CoordinatorCore::OnMessage(Node& node, const Heartbeat& message, MonotonicTime now, CoordinatorOutputs& out) {
  if (message.number <= node.last.number) return;
  NoteLinks(node, message, now);
  if (links_.IsGivenUp(node.member.node)) return;
  Heard(node, now);
  if (std::exchange(node.lost, false)) {  // the last server, and no process has taken its place
    last_server_lost_ = kNever;
    out.events.push_back(Name(node.member.node) + " is back");
  }
  loss_.Add(message.loss_sum - node.last.loss_sum,
            message.loss_samples - std::min(message.loss_samples, node.last.loss_samples));
  node.last = message;
  data_sets_.Advance(node.member.node, message.leases);
  if (node.member.role == Role::kWorker &&
      leadership_.Held(now)) {  // or steps would continue without the next one's workers
    clocks_.Report(node.member.node, message.clock, message.begun, message.promised);
    UpdateCounted(node);
  }
  if (node.member.role == Role::kServer) {
    leadership_.OnSupport(node.member.node, message.supports, message.map_version, now_);
    if (leadership_.suspended()) CheckLease(now, out);
  }
  Send(node,
       HeartbeatAck{.number = message.number,
                    .sync = clocks_.state(),
                    .liveness = leadership_.GrantedLiveness(now),
                    .support = leadership_.Ask(node.member.node, node.member.role, now_)},
       out);
  if (message.map_version < map_.version) Send(node, MapUpdate{.map = map_}, out);
  if (end_.goal_reached()) Send(node, GoalReached{.reason = end_.goal()}, out);
  if (IsFinished() && node.member.role == Role::kServer) Send(node, Finished{}, out);
  CheckGoals(now, out);
}

void CoordinatorCore::OnMessage(Node& node, const MapRequest& message, MonotonicTime, CoordinatorOutputs& out) {
  if (message.have < map_.version) Send(node, MapUpdate{.map = map_}, out);
}

uint64_t CoordinatorCore::TotalSteps() const {
  uint64_t steps = steps_of_gone_;
  for (const auto& [id, node] : nodes_) steps = CappedSum(steps, node.last.steps);
  return steps;
}

}  // namespace attune::ps
