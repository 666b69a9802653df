#include "ps/core/coordinator/admissions.h"

#include <string>
#include <utility>

#include "ps/core/link/request_book.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

Status NoLongerMember() {
  return Error(StatusCode::kAborted, "this node is no longer a member of the job; start it again");
}

}  // namespace

void Admissions::Refuse(ConnectionId from, Status why, CoordinatorOutputs& out) {
  TurnAway(from, JoinRefused{.status = std::move(why)}, out);
}

void Admissions::TurnAway(ConnectionId from, Message answer, CoordinatorOutputs& out) {
  refused_.emplace(from, job_.now());  // asking again does not prolong it
  out.send.push_back({.to = from, .message = std::move(answer)});
}

std::vector<ConnectionId> Admissions::ExpireRefused() {
  std::vector<ConnectionId> expired;
  std::erase_if(refused_, [&](const auto& entry) {
    if (job_.now() - entry.second < job_.options().liveness_lease) return false;
    expired.push_back(entry.first);
    return true;
  });
  return expired;
}

void Admissions::OnJoin(ConnectionId from, const Join& join, CoordinatorOutputs& out) {
  MemberTable& members = job_.members();
  if (const NodeId node = members.gone().NodeOf(join.incarnation); node != NodeId()) {
    const Status& why = members.gone().Find(node)->why;
    if (!why.ok()) return Refuse(from, why, out);
    members.Connect(from, node);  // it has left; its question about that is answered when it comes
    // A server that was released asks nothing: its connection may have broken before it heard so.
    if (join.role == Role::kServer) out.send.push_back({.to = from, .message = Finished{}});
    return;
  }
  if (job_.phase().failed()) return Refuse(from, job_.phase().failure(), out);
  if (MemberState* node = members.FindProcess(join.incarnation)) return OnReturn(*node, from, join, out);
  // There is nothing left to do for it, which is no error of its own.
  const bool asks_for_work_left_open = join.node != NodeId() && join.role == Role::kWorker;
  if (job_.phase().finished() && !asks_for_work_left_open && job_.CheckJob(join).ok()) {
    out.events.push_back("join refused: the job is finished: " + goals_.reason());
    return TurnAway(from, Finished{}, out);
  }
  if (join.node != NodeId()) return OnUnknownMember(from, join, out);
  if (const Status status = Check(join); !status.ok()) {
    out.events.push_back("join refused: " + std::string(status.message()));
    return Refuse(from, status, out);
  }
  if (TakePlace(join, out)) Admit(from, join, out);
}

// A member whose connection has broken.
void Admissions::OnReturn(MemberState& node, ConnectionId from, const Join& join, CoordinatorOutputs& out) {
  job_.members().Attach(node, from);
  watch_.Heard(node);
  replies_.RepeatTo(node.member.node);
  if (join.takes_rows && !std::exchange(node.member.takes_rows, true)) {
    checkpoints_.TakeIn(node.member.node);
    placement_.PublishMembers(out);
  }
  checkpoints_.SendOrder(node, out);  // before a map that rows may move under again
  SendWelcome(node, out);
  if (node.is_server()) tables_.SendOpenOrders(node, out);
}

// It has a number, and this coordinator does not know it by that.
void Admissions::OnUnknownMember(ConnectionId from, const Join& join, CoordinatorOutputs& out) {
  const bool takeover = job_.options().takeover;
  if (job_.members().contains(join.node))
    return Refuse(from, NoLongerMember(), out);  // another process has that number
  // Lost or released under another coordinator, which no member here knows. A worker asks for what it left open; a
  // server asks nothing, and would wait for ever.
  if (takeover && join.role == Role::kServer) return Refuse(from, NoLongerMember(), out);
  if (takeover) return job_.members().ForgetFormer(from, join, job_.now());
  Refuse(from,
         Error(StatusCode::kAborted,
               "this node took part in the job and is no longer a member, or its coordinator is gone and the job "
               "begins again; start it again"),
         out);
}

Status Admissions::Check(const Join& join) const {
  if (Status status = job_.CheckJob(join); !status.ok()) return status;
  if (job_.members().size() >= kMembersMax) {
    return Error(StatusCode::kResourceExhausted,
                 "the job has " + std::to_string(kMembersMax) + " members, more are not allowed; scale it down");
  }
  if (join.role == Role::kWorker) return OkStatus();
  if (join.address.empty()) {
    return Error(StatusCode::kInvalidArgument, "server " + std::to_string(join.index) + " has no address");
  }
  const uint32_t servers = job_.options().servers;
  if (join.index >= kServersMax || (!job_.map().formed() && join.index >= servers)) {
    return Error(StatusCode::kInvalidArgument, "server " + std::to_string(join.index) + " at \"" + join.address +
                                                   "\": the job starts with servers 0 to " +
                                                   std::to_string(servers - 1) + " and may have " +
                                                   std::to_string(kServersMax));
  }
  return OkStatus();
}

// The platform replaced the process of that index: the old one is gone for good. False: it cannot be declared lost yet,
// and the join comes again.
bool Admissions::TakePlace(const Join& join, CoordinatorOutputs& out) {
  for (auto& [id, other] : job_.members()) {
    if (other.member.role != join.role || other.member.index != join.index) continue;
    if (!job_.leadership().MayLose({id}, job_.now())) {
      if (!other.said_gone) other.said_gone = job_.now();
      return false;
    }
    const std::string name = job_.members().Name(id);
    const Status why = Error(StatusCode::kAborted, name + " has been replaced by another process of that index");
    departures_.Lose(NodeId(id), why, out);
    return true;
  }
  return true;
}

void Admissions::Admit(ConnectionId from, const Join& join, CoordinatorOutputs& out) {
  MemberTable& members = job_.members();
  MemberState& node = members.Admit(join, from);
  const NodeId id = node.member.node;
  watch_.Heard(node);
  if (join.role == Role::kWorker) pace_.Add(id);
  replies_.NoteChange();
  out.events.push_back(members.Name(id) + " joined");
  if (join.role == Role::kWorker) goals_.NoteJoined();
  if (join.role == Role::kServer) {
    placement_.WantServer(node);
    tables_.NoteJoined(id);  // it must have them before it gets rows
  } else if (join.takes_rows) {
    checkpoints_.TakeIn(id);
  }
  placement_.FormWhenComplete(out);
  if (job_.last_server().is_lost() && join.role == Role::kServer) {
    departures_.ReplaceLastServers(out);
  } else {
    placement_.PublishMembers(out);
  }
  SendWelcome(node, out);
  checkpoints_.SendOrder(node, out);
  if (join.role == Role::kServer) tables_.SendOpenOrders(node, out);
}

void Admissions::SendWelcome(const MemberState& node, CoordinatorOutputs& out) {
  uint32_t joined = 0;
  for (const auto& [id, other] : job_.members()) joined += other.is_server() ? 1 : 0;
  // Before any map: a recovery may need it.
  if (node.member.role == Role::kServer && recoveries_.newest().checkpoint != 0) {
    JobContext::Send(node, NewestCheckpoint{.point = recoveries_.newest()}, out);
  }
  JobContext::Send(node,
                   Welcome{.node = node.member.node,
                           .map = job_.map(),
                           .servers_expected = job_.options().servers,
                           .servers_joined = joined,
                           .sync = pace_.state(),
                           .support = job_.leadership().Ask(node.member.node, node.member.role, job_.now())},
                   out);
}

void Admissions::OnGone(ConnectionId from, NodeId node, const Message& message, CoordinatorOutputs& out) const {
  const GoneMembers::Gone* gone = job_.members().gone().Find(node);
  if (gone == nullptr || !gone->why.ok()) {
    const Status why = gone == nullptr ? NoLongerMember() : gone->why;
    out.send.push_back({.to = from, .message = SessionLost{.status = why}});
  } else if (std::holds_alternative<Leave>(message) || std::holds_alternative<LeaseDone>(message) ||
             std::holds_alternative<LeaseReturn>(message)) {
    out.send.push_back({.to = from, .message = Done{.request = HeaderOf(message)->request}});
  } else if (HeaderOf(message) != nullptr ||
             (std::holds_alternative<Heartbeat>(message) && job_.members().WaitsInVain(node, job_.now()))) {
    out.send.push_back({.to = from, .message = SessionLost{.status = NoLongerMember()}});
  }
}

}  // namespace attune::ps
