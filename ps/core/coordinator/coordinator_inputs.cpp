// What comes in: messages of members, commands of the operator, the timer; and which part of the coordinator each is
// for.
#include <string>
#include <utility>
#include <variant>

#include "ps/core/coordinator/coordinator_core.h"
#include "ps/core/link/request_book.h"
#include "ps/core/membership/coordinator_notices.h"

namespace attune::ps {

void CoordinatorCore::On(FromConnection input, CoordinatorOutputs& out) {
  if (const auto* join = std::get_if<Join>(&input.message)) return OnJoin(input.from, *join, out);
  if (const auto* promised = std::get_if<Promised>(&input.message)) return inquiry_.OnPromised(input.from, *promised);
  const std::optional<NodeId> known = job_.members().NodeAt(input.from);
  if (!known) {
    // It has not introduced itself, or only while this coordinator took over: a new connection begins with Join.
    if (!job_.phase().taking_over() && !admissions_.HasRefused(input.from)) out.close.push_back(input.from);
    return;
  }
  Node* node = job_.members().Find(*known);
  if (node == nullptr) return admissions_.OnGone(input.from, *known, input.message, out);
  if (rights_.Refuses(input.message, *known, PartyOf(node->member.role), out.rejected)) return;
  if (!TakeUp(*node, input.message, out)) return;
  std::visit([&](const auto& body) { OnMessage(*node, body, out); }, input.message);
}

void CoordinatorCore::OnJoin(ConnectionId from, const Join& join, CoordinatorOutputs& out) {
  const uint32_t term = job_.options().term;
  if (join.term > term) {
    if (job_.CheckJob(join).ok() && CoordinatorNotices::IsNear(term, join.term)) job_.phase().Supersede();
    return;
  }
  if (job_.phase().taking_over()) return inquiry_.OnJoin(from, join, out);
  admissions_.OnJoin(from, join, out);
}

// False: it is a request that was taken up before, or is refused.
bool CoordinatorCore::TakeUp(Node& node, const Message& message, CoordinatorOutputs& out) {
  const RequestHeader* header = HeaderOf(message);
  if (header == nullptr) return true;
  if (!Replies::IsNew(node, *header, out)) return false;
  if (node.requests.ManyBehindAWait()) leases_.RefuseWaiting(node.member.node, out);
  return Replies::TakeUp(node, header->request, out);
}

void CoordinatorCore::On(ConnectionClosed input, CoordinatorOutputs&) {
  inquiry_.OnClosed(input.connection);
  admissions_.OnClosed(input.connection);
  job_.members().Close(input.connection);
}

void CoordinatorCore::On(const CoordinatorTimer&, CoordinatorOutputs& out) {
  job_.times().Checked(job_.options().check_interval);
  for (const ConnectionId connection : admissions_.ExpireRefused()) out.close.push_back(connection);
  if (job_.phase().failed()) return;
  if (job_.phase().taking_over()) return inquiry_.AskAgain(out);
  CheckLiveness(out);
  for (const ConnectionId connection : job_.members().Expire(job_.now())) out.close.push_back(connection);
  if (job_.phase().failed()) return;
  leases_.Serve(out);  // drops the overdue
  CheckGoals(out);
  pace_.WatchFloor(out);
  tables_.AskOpenersToWait(out);
  placement_.AnswerOrders(out);
  placement_.RelieveHotServer(out);
  if (!job_.times().TakeAgain(job_.options().send_again_after)) return;
  replies_.NoteChange();  // positions and losses, which no caller waits for
  for (const auto& [id, node] : job_.members()) {
    if (node.is_server()) tables_.SendOpenOrders(node, out);
    checkpoints_.SendOrder(node, out);
  }
}

void CoordinatorCore::On(FromOperator input, CoordinatorOutputs& out) {
  const JobPhase& phase = job_.phase();
  const auto refuse = [&](const Status& why) { JobContext::Answer(input.id, why, {}, out); };
  if (phase.failed()) return refuse(phase.failure());
  if (phase.finished()) return refuse(Error(StatusCode::kFailedPrecondition, "the job is finished"));
  if (phase.taking_over() && !std::holds_alternative<NodeGone>(input.command) &&
      !std::holds_alternative<ConfirmLeader>(input.command)) {
    return refuse(Error(StatusCode::kUnavailable, "a new coordinator takes over; ask again"));
  }
  const MonotonicTime deadline = job_.DeadlineAfter(input.timeout);
  std::visit([&](const auto& command) { OnCommand(input.id, command, deadline, out); }, input.command);
}

void CoordinatorCore::OnCommand(CommandId id, const NodeGone& command, MonotonicTime deadline,
                                CoordinatorOutputs& out) {
  if (!watch_.OnGone(id, command, deadline, out)) return;
  if (job_.phase().taking_over()) inquiry_.NoteGone(command);
  job_.leadership().ExcludeFormerVoter(command.role, command.index, command.pod);
  if (job_.silence().NoteSaidGone(command.role, command.index, command.pod, job_.now())) departures_.LoseTheGone(out);
}

void CoordinatorCore::OnCommand(CommandId id, const ConfirmLeader& command, MonotonicTime, CoordinatorOutputs& out) {
  const uint32_t term = job_.options().term;
  const auto refuse = [&](const std::string& text) {
    JobContext::Answer(id, Error(StatusCode::kFailedPrecondition, text), {}, out);
  };
  if (command.term != term) {
    return refuse("a confirmation of term " + std::to_string(command.term) + " for the coordinator of term " +
                  std::to_string(term));
  }
  if (command.voters.nodes.empty() || !job_.leadership().Confirm(command.voters)) {
    return refuse("the confirmation is older than the voters in force");
  }
  out.events.push_back("the operator confirms the coordinator with " + std::to_string(command.voters.nodes.size()) +
                       " voters");
  CheckLease(out);
  JobContext::Answer(id, OkStatus(), {}, out);
}

// --- messages of members

void CoordinatorCore::OnMessage(Node& node, const Heartbeat& message, CoordinatorOutputs& out) {
  if (message.number <= node.last.number) return;
  const NodeId id = node.member.node;
  const Role role = node.member.role;
  Leadership& leadership = job_.leadership();
  if (watch_.NoteLinks(node, message)) placement_.NoteChange();  // a joining member may be waiting for that
  if (watch_.IsGivenUp(id)) return;
  watch_.Heard(node);
  if (job_.last_server().NoteBack(node)) {  // the last server, and no process has taken its place
    out.events.push_back(job_.members().Name(id) + " is back");
  }
  goals_.AddLoss(node.last, message);
  node.last = message;
  leases_.Advance(node);
  if (role == Role::kWorker && job_.Leads()) {  // or steps would continue without the next one's workers
    pace_.Report(node);
    leases_.UpdateCounted(node);
  }
  if (role == Role::kServer) {
    leadership.OnSupport(id, message.supports, message.map_version, job_.now());
    if (leadership.suspended()) CheckLease(out);
  }
  JobContext::Send(node,
                   HeartbeatAck{.number = message.number,
                                .sync = pace_.state(),
                                .liveness = leadership.GrantedLiveness(job_.now()),
                                .support = leadership.Ask(id, role, job_.now()),
                                .announcements_ignored = pace_.announcements_ignored()},
                   out);
  if (message.map_version < map().version) JobContext::Send(node, MapUpdate{.map = map()}, out);
  goals_.SendReason(node, out);
  if (job_.phase().finished() && role == Role::kServer) JobContext::Send(node, Finished{}, out);
  CheckGoals(out);
}

void CoordinatorCore::OnMessage(Node& node, const TableInstalled& message, CoordinatorOutputs& out) {
  if (tables_.OnInstalled(node, message, out)) placement_.NoteChange();
}

void CoordinatorCore::OnMessage(Node& node, const ReportMetric& message, CoordinatorOutputs& out) {
  if (goals_.OnReport(node, message, leases_.PlaceNow(), out)) CheckGoals(out);
}

void CoordinatorCore::OnMessage(Node& node, const Leave& message, CoordinatorOutputs& out) {
  if (departures_.OnLeave(node, message, out)) EndLeave(node.member.node, out);
}

void CoordinatorCore::OnMessage(Node& node, const MirrorAck& message, CoordinatorOutputs& out) {
  if (replies_.Acknowledge(node.member.node, message.number)) ReleaseMirrored(out);
}

}  // namespace attune::ps
