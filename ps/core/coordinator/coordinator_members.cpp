// Who takes part: join, leave, loss, and the map that says so.
#include <algorithm>
#include <array>
#include <utility>

#include "ps/core/coordinator/coordinator_core.h"
#include "ps/core/membership/coordinator_notices.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

Status NoLongerMember() {
  return Error(StatusCode::kAborted, "this node is no longer a member of the job; start it again");
}

}  // namespace

void CoordinatorCore::OnJoin(ConnectionId from, const Join& join, MonotonicTime now, CoordinatorOutputs& out) {
  const auto refuse = [&](Status status) {
    out.send.push_back({.to = from, .message = JoinRefused{.status = std::move(status)}});
  };
  if (join.term > options_.term) {
    if (join.job_uid != options_.job_uid || !CoordinatorNotices::IsNear(options_.term, join.term)) return;
    superseded_ = true;
    return;
  }
  if (TakingOver()) return OnFormerMember(from, join, out);
  if (const NodeId node = members_.gone().NodeOf(join.incarnation); node != NodeId()) {
    const Status& why = members_.gone().Find(node)->why;
    if (!why.ok()) return refuse(why);
    members_.Connect(from, node);  // it has left; its question about that is answered when it comes
    // A server that was released asks nothing: its connection may have broken before it heard so.
    if (join.role == Role::kServer) out.send.push_back({.to = from, .message = Finished{}});
    return;
  }
  if (!failed_.ok()) return refuse(failed_);
  if (Node* node = members_.FindProcess(join.incarnation)) return OnReturn(*node, from, join, now, out);
  if (join.node != NodeId()) {
    if (members_.Find(join.node) != nullptr) return refuse(NoLongerMember());  // another process has that number
    // Lost or released under another coordinator, which no member here knows. A worker asks for what it left open; a
    // server asks nothing, and would wait for ever.
    if (options_.takeover && join.role == Role::kServer) return refuse(NoLongerMember());
    if (options_.takeover) return members_.ForgetFormer(from, join, now);
    return refuse(Error(StatusCode::kAborted,
                        "this node took part in the job and is no longer a member, or its coordinator is gone and the "
                        "job begins again; start it again"));
  }
  if (const Status status = CheckJoin(join); !status.ok()) {
    out.events.push_back("join refused: " + std::string(status.message()));
    return refuse(status);
  }
  Admit(from, join, now, out);
}

// A member whose connection has broken.
void CoordinatorCore::OnReturn(Node& node, ConnectionId from, const Join& join, MonotonicTime now,
                               CoordinatorOutputs& out) {
  members_.Attach(node, from);
  Heard(node, now);
  mirror_.RepeatTo(node.member.node, now);
  if (join.takes_rows && !std::exchange(node.member.takes_rows, true)) {
    cuts_.TakeIn(node.member.node);
    PublishMembers(out);
  }
  SendCutOrder(node, out);  // before a map that rows may move under again
  SendWelcome(node, out);
  if (node.is_server()) SendOpenOrders(node, out);
}

Status CoordinatorCore::CheckJoin(const Join& join) const {
  if (join.job_uid != options_.job_uid) {
    return Error(StatusCode::kFailedPrecondition, "this coordinator serves job id \"" + options_.job_uid +
                                                      "\", not \"" + join.job_uid +
                                                      "\"; check the coordinator's address of this process");
  }
  if (IsFinished()) return Error(StatusCode::kFailedPrecondition, "the job is finished: " + end_.goal());
  if (members_.size() >= kMembersMax) {
    return Error(StatusCode::kResourceExhausted,
                 "the job has " + std::to_string(kMembersMax) + " members, more are not allowed; scale it down");
  }
  if (join.role == Role::kWorker) return OkStatus();
  if (join.address.empty()) {
    return Error(StatusCode::kInvalidArgument, "server " + std::to_string(join.index) + " has no address");
  }
  if (join.index >= kServersMax || (!map_.formed() && join.index >= options_.servers)) {
    return Error(StatusCode::kInvalidArgument, "server " + std::to_string(join.index) + " at \"" + join.address +
                                                   "\": the job starts with servers 0 to " +
                                                   std::to_string(options_.servers - 1) + " and may have " +
                                                   std::to_string(kServersMax));
  }
  return OkStatus();
}

void CoordinatorCore::Admit(ConnectionId from, const Join& join, MonotonicTime now, CoordinatorOutputs& out) {
  for (auto& [id, other] : members_) {
    if (other.member.role != join.role || other.member.index != join.index) continue;
    if (!leadership_.MayLose({id}, now)) {  // the join comes again
      if (!other.said_gone) other.said_gone = now;
      return;
    }
    // The platform replaced that process: the old one is gone for good.
    const Status why =
        Error(StatusCode::kAborted, members_.Name(id) + " has been replaced by another process of that index");
    LoseNode(NodeId(id), why, out);
    break;
  }

  Node& node = members_.Admit(join, from);
  const NodeId id = node.member.node;
  Heard(node, now);
  if (join.role == Role::kWorker) clocks_.Add(id);
  mirror_.NoteChange();
  out.events.push_back(members_.Name(id) + " joined");
  if (join.role == Role::kWorker) training_.NoteWorker(options_.resume ? options_.resume->seconds : 0, now);
  if (join.role == Role::kServer) {
    WantServer(node);
    tables_.NoteJoined(id);  // it must have them before it gets rows
  } else if (join.takes_rows) {
    cuts_.TakeIn(id);
  }
  FormMapWhenComplete(out);
  if (members_.without_server() && join.role == Role::kServer) {
    ReplaceLastServer(out);
  } else {
    PublishMembers(out);
  }
  SendWelcome(node, out);
  SendCutOrder(node, out);
  if (join.role == Role::kServer) SendOpenOrders(node, out);
}

// A server that joins is wanted, ordered or not. Only while an order says how many there are to be, one above that
// number is drained like those that were here when it came: it was started before the order and is late.
void CoordinatorCore::WantServer(Node& server) {
  if (!map_.formed()) return;
  const uint32_t wanted = placement_.servers_wanted();
  if (placement_.HasCount() && server.member.index >= wanted && members_.AnyServerBelow(wanted)) {
    server.member.leaving = true;
  } else {
    placement_.Want(std::max(wanted, server.member.index + 1));
  }
}

void CoordinatorCore::SendWelcome(Node& node, CoordinatorOutputs& out) {
  uint32_t joined = 0;
  for (const auto& [id, other] : members_) joined += other.is_server() ? 1 : 0;
  // Before any map: a recovery may need it.
  if (node.member.role == Role::kServer && recoveries_.newest().checkpoint != 0) {
    Send(node, NewestCheckpoint{.point = recoveries_.newest()}, out);
  }
  Send(node,
       Welcome{.node = node.member.node,
               .map = map_,
               .servers_expected = options_.servers,
               .servers_joined = joined,
               .sync = clocks_.state(),
               .support = leadership_.Ask(node.member.node, node.member.role, times_.now())},
       out);
}

void CoordinatorCore::FormMapWhenComplete(CoordinatorOutputs& out) {
  if (map_.formed()) return;
  std::vector<Member> servers;
  for (const auto& [id, node] : members_) {
    if (node.member.role == Role::kServer) servers.push_back(node.member);
  }
  if (servers.size() < options_.servers) return;
  std::ranges::sort(servers, {}, &Member::index);  // the same shards on the same index, no matter who joined first
  std::vector<NodeId> ids;
  for (const Member& server : servers) ids.push_back(server.node);
  map_.version = MapVersion(options_.term, 0);
  map_.shards = EvenShards(options_.shards, ids, options_.backups > 0, map_.version);
  map_ = PlacedAtOnce(std::move(map_), GoalOfPlacement(std::move(ids)));
  out.events.push_back((servers.size() == 1 ? std::string("the server has")
                                            : "all " + std::to_string(servers.size()) + " servers have") +
                       " joined; the job serves");
}

void CoordinatorCore::PublishMembers(CoordinatorOutputs& out) {
  if (!map_.formed()) return;
  ShardMap next = map_;
  next.version = map_.version.Next();
  Publish(std::move(next), out);
}

void CoordinatorCore::Publish(ShardMap map, CoordinatorOutputs& out) {
  map_ = std::move(map);
  map_.marked = std::max(map_.marked, cuts_.marked());
  map_.members = members_.Members();
  leadership_.AssignVotes(map_, times_.now());
  placement_.NotePublished();
  for (const auto& [id, node] : members_) Send(node, MapUpdate{.map = map_}, out);
}

void CoordinatorCore::Remove(NodeId id, Status why) {
  cuts_.NoteGone(id, why);
  leadership_.NoteGone(members_.at(id).member, map_);
  members_.Remove(id, std::move(why), times_.now());
  links_.Forget(id);
  if (!options_.mutations.floor_counts_lost_workers) clocks_.Remove(id);
  (void)data_sets_.TakeWaiting(id);
  tables_.NoteGone();
  mirror_.NoteChange();
}

// What a node that is no longer a member hears when it still speaks.
void CoordinatorCore::AnswerGone(ConnectionId from, NodeId node, const Message& message, CoordinatorOutputs& out) {
  const GoneMembers::Gone* gone = members_.gone().Find(node);
  if (gone == nullptr || !gone->why.ok()) {
    const Status why = gone == nullptr ? NoLongerMember() : gone->why;
    out.send.push_back({.to = from, .message = SessionLost{.status = why}});
  } else if (std::holds_alternative<Leave>(message) || std::holds_alternative<LeaseDone>(message) ||
             std::holds_alternative<LeaseReturn>(message)) {
    out.send.push_back({.to = from, .message = Done{.request = HeaderOf(message)->request}});
  } else if (HeaderOf(message) != nullptr ||
             (std::holds_alternative<Heartbeat>(message) && members_.WaitsInVain(node, times_.now()))) {
    out.send.push_back({.to = from, .message = SessionLost{.status = NoLongerMember()}});
  }
}

void CoordinatorCore::LoseWorker(NodeId id, const Status& reason, CoordinatorOutputs& out) {
  const Node& node = members_.at(id);
  uint64_t again = 0;
  if (!options_.mutations.keep_leases_of_lost_workers) {
    again = data_sets_.ReleaseAll(id);
  }
  out.events.push_back(members_.Name(id) + " is lost, " + std::to_string(again) +
                       " items go to others: " + std::string(reason.message()));
  members_.AddStepsOfGone(node.last.steps);
  Send(node, SessionLost{.status = reason}, out);
  const bool held_rows = node.member.may_own_rows();
  end_.NoteLost(members_.next());
  Remove(id, reason);
  if (held_rows && map_.formed()) {
    recoveries_.Begin(map_.recoveries);
    Publish(WithoutFailed(map_, std::array{id}), out);
  } else {
    PublishMembers(out);
  }
  ServeLeases(times_.now(), out);
}

void CoordinatorCore::OnMessage(Node& node, const Leave& message, MonotonicTime now, CoordinatorOutputs& out) {
  if (!TakeUp(node, message.header, out)) return;
  const NodeId id = node.member.node;
  data_sets_.ReturnAll(id);  // it has ended all others before
  UpdateCounted(node);
  ServeLeases(now, out);
  node.leave = message;
  if (node.reports() && map_.formed()) {
    // The homes call its rows back, those that are still on their way to it too; then it is released.
    node.member.leaving = true;
    return PublishMembers(out);
  }
  EndLeave(id, out);
}

void CoordinatorCore::EndLeave(NodeId id, CoordinatorOutputs& out) {
  const Leave leave = *members_.at(id).leave;
  Reply(id, leave.header.request, Done{.request = leave.header.request}, out);
  out.events.push_back(members_.Name(id) + " left after " + std::to_string(leave.steps) + " steps");
  members_.AddStepsOfGone(leave.steps);
  Remove(id, OkStatus());
  PublishMembers(out);
  CheckGoals(times_.now(), out);
  if (!leave.drained) end_.NoteLeft(id);  // one that was asked to leave may have had the closing work before it
  FinishWhenEmpty(out);
}

void CoordinatorCore::FailJob(const Status& reason, CoordinatorOutputs& out) {
  if (!failed_.ok()) return;
  failed_ = reason;
  out.failed = reason;
  AnswerAll(reason, out);
  out.events.push_back("the job failed: " + std::string(reason.message()));
  for (const auto& [id, node] : members_) Send(node, SessionLost{.status = reason}, out);
}

// Proven gone, or silent for longer than any lease that the node can have. Without the lease no member is declared
// lost: another coordinator may know better.
void CoordinatorCore::CheckLiveness(MonotonicTime now, CoordinatorOutputs& out) {
  if (members_.WithoutServerFor(options_.replacement_grace, now)) {
    return FailJob(Error(StatusCode::kDataLoss,
                         "the last server is lost and no other one has joined; start the job "
                         "again from its last checkpoint"),
                   out);
  }
  CheckLease(now, out);
  LoseTheGone(now, out);
  CheckLinks(now, out);
  MemberTable::Silent silent = members_.FindSilent(map_, now);
  if (!leadership_.MayLose(silent.all, now)) silent.lost.clear();
  for (const NodeId id : silent.lost) {
    const Node* node = members_.Find(id);
    if (node == nullptr) continue;
    if (IsFinished() && node->member.role == Role::kServer) continue;  // has ended as it should
    const std::string silent_for = members_.Name(id) + " has not been heard of for " +
                                   std::to_string(static_cast<int64_t>(Seconds(now - node->silent_since))) + " s";
    const std::string text = links_.IsGivenUp(id) ? WhyGivenUp(id, now) : silent_for;
    LoseNode(id, Error(StatusCode::kAborted, text + "; if it still runs, start it again"), out);
  }
  FinishWhenEmpty(out);
}

void CoordinatorCore::LoseTheGone(MonotonicTime now, CoordinatorOutputs& out) {
  const std::vector<NodeId> gone = members_.SaidGone(now);
  bool excluded = false;
  for (const NodeId id : gone) {
    const Node& node = members_.at(id);
    excluded = (node.proven_gone && node.member.role == Role::kServer && leadership_.Exclude(id)) || excluded;
  }
  if (!leadership_.MayLose({gone.begin(), gone.end()}, now)) {
    if (excluded) PublishMembers(out);
    return;
  }
  for (const NodeId id : gone) {
    if (members_.Find(id) == nullptr) continue;
    LoseNode(id, Error(StatusCode::kAborted, members_.Name(id) + "'s process is gone"), out);
  }
}

}  // namespace attune::ps
