#include "ps/core/coordinator/state/replies.h"

#include <string>

#include "ps/core/protocol/limits.h"

namespace attune::ps {

bool Replies::IsNew(MemberState& node, const RequestHeader& header, CoordinatorOutputs& out) {
  switch (node.requests.Receive(header)) {
    case AnswerBook::Received::kNothingToDo:
      return false;
    case AnswerBook::Received::kAnswered:
      JobContext::Send(node, node.requests.AnswerTo(header.request), out);
      return false;
    case AnswerBook::Received::kNew:
      break;
  }
  return true;
}

bool Replies::TakeUp(MemberState& node, RequestId request, CoordinatorOutputs& out) {
  if (node.requests.IsFull()) {
    const Status full = Error(StatusCode::kResourceExhausted,
                              std::to_string(kRequestsInFlightMax) + " requests of one node are open; wait for some");
    JobContext::Send(node, Refused{.request = request, .status = full}, out);
    return false;
  }
  node.requests.TakeUp(request);
  return true;
}

void Replies::Reply(NodeId to, RequestId request, Message message, CoordinatorOutputs& out) {
  Answer(to, request, std::move(message), /*hurries=*/true, out);
}

void Replies::ReplyUnhurried(NodeId to, RequestId request, Message message, CoordinatorOutputs& out) {
  Answer(to, request, std::move(message), /*hurries=*/false, out);
}

void Replies::Answer(NodeId to, RequestId request, Message message, bool hurries, CoordinatorOutputs& out) {
  const bool waits = job_.leadership().MirrorHost(job_.members(), job_.map()) != nullptr || !job_.Leads();
  MemberState* node = job_.members().Find(to);
  if (node == nullptr) return;
  if (waits && !job_.mutations().answer_before_mirror) {
    RecordMirror::Answer answer{
        .node = to, .connection = node->connection, .request = request, .message = std::move(message)};
    return hurries ? mirror_.Hold(std::move(answer)) : mirror_.HoldUnhurried(std::move(answer), job_.now());
  }
  JobContext::Send(*node, message, out);
  node->requests.Answered(request, std::move(message));
}

// Nothing is acknowledged without the leader lease: the next coordinator may not know of it.
void Replies::Release(bool all, CoordinatorOutputs& out) {
  if (!job_.Leads()) return;
  mirror_.Release(all, [&](RecordMirror::Answer answer) {
    if (MemberState* node = job_.members().Find(answer.node)) {
      JobContext::Send(*node, answer.message, out);
      node->requests.Answered(answer.request, std::move(answer.message));
    } else if (answer.connection) {
      out.send.push_back({.to = *answer.connection, .message = std::move(answer.message)});
    }
  });
}

bool Replies::ChooseHost() {
  const MemberState* host = job_.leadership().MirrorHost(job_.members(), job_.map());
  return mirror_.SetHost(host == nullptr ? NodeId() : host->member.node);
}

const MemberState* Replies::CopyDue(bool moved) {
  if (!mirror_.BeginCopy(moved, job_.now(), job_.options().send_again_after)) return nullptr;
  return job_.members().Find(mirror_.host());
}

std::optional<uint64_t> Replies::ToAnnounce() {
  const uint64_t from = job_.map().records_from;
  mirror_.ForgetOlderIf([&](NodeId id) {
    const MemberState* node = job_.members().Find(id);
    return node == nullptr || mirror_.MustHaveDropped(node->known_map(), from);
  });
  std::optional<uint64_t> next = mirror_.ToAnnounce(from);
  return next && job_.Leads() ? next : std::nullopt;
}

}  // namespace attune::ps
