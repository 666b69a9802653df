// What the coordinator does with its mirror: which server gets the copies, what they contain, and what a map has to say
// of them (ps/core/coordinator/state/record_mirror.h).
#include <algorithm>
#include <utility>

#include "ps/core/coordinator/coordinator_core.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

CoordinatorRecord CoordinatorCore::RecordAll() const {
  CoordinatorRecord record{.number = mirror_.number(),
                           .host = {},
                           .goal = options_.goal,
                           .items = options_.items,
                           .lease_items = options_.lease_items,
                           .servers = options_.servers,
                           .synchronization = ToString(clocks_.mode()),
                           .load = options_.load,
                           .resume = options_.resume,
                           .servers_wanted = placement_.servers_wanted(),
                           .backups = options_.backups,
                           // Those who join before the next copy arrives are not in this one.
                           .next_node = NodeId(members_.next().value() + static_cast<uint32_t>(kMembersMax)),
                           .nodes = {},
                           .tables = tables_.Records(),
                           .data_sets = data_sets_.RecordsWithHolders(),
                           .newest = recoveries_.newest(),
                           .newest_steps = recoveries_.newest_steps(),
                           .steps_of_gone = members_.steps_of_gone(),
                           .model_lost = recoveries_.model_lost(),
                           .goal_reached = end_.goal(),
                           .closing_from = end_.closing_from()};
  training_.Fill(record, times_.now());
  for (const auto& [id, node] : members_) {
    record.nodes.push_back({.node = id, .uses_leases = node.uses_leases});
    if (leadership_.IsHost(node.member)) record.host = id;
  }
  return record;
}

std::optional<CoordinatorRecord> CoordinatorCore::LastRecord() const {
  if (TakingOver() || !failed_.ok() || !map_.formed()) return std::nullopt;
  CoordinatorRecord record = RecordAll();
  record.number = mirror_.number() + 1;
  return record;
}

// Nothing is acknowledged without the leader lease: the next coordinator may not know of it.
void CoordinatorCore::ReleaseAnswers(bool all, CoordinatorOutputs& out) {
  if (!leadership_.Held(times_.now())) return;
  mirror_.Release(all, [&](RecordMirror::Answer answer) {
    if (Node* node = members_.Find(answer.node)) {
      Send(*node, answer.message, out);
      node->requests.Answered(answer.request, std::move(answer.message));
    } else if (answer.connection) {
      out.send.push_back({.to = *answer.connection, .message = std::move(answer.message)});
    }
  });
}

void CoordinatorCore::OnMessage(Node& node, const MirrorAck& message, MonotonicTime, CoordinatorOutputs& out) {
  if (mirror_.Acknowledge(node.member.node, message.number)) ReleaseMirrored(out);
}

void CoordinatorCore::DropOlderCopies(CoordinatorOutputs& out) {
  mirror_.ForgetOlderIf([&](NodeId id) {
    const Node* node = members_.Find(id);
    return node == nullptr || mirror_.MustHaveDropped(node->known_map(), map_.records_from);
  });
  const auto from = mirror_.ToAnnounce(map_.records_from);
  if (!from || !leadership_.Held(times_.now())) return;
  map_.records_from = *from;
  PublishMembers(out);
  mirror_.Announced(map_.version);
}

void CoordinatorCore::ReleaseMirrored(CoordinatorOutputs& out) {
  DropOlderCopies(out);
  ReleaseAnswers(false, out);
}

void CoordinatorCore::GoOnWithMirror(CoordinatorOutputs& out) {
  const Node* host = leadership_.MirrorHost(members_, map_);
  const bool moved = mirror_.SetHost(host == nullptr ? NodeId() : host->member.node);
  if (host == nullptr) return ReleaseAnswers(true, out);
  ReleaseMirrored(out);  // what waited for the lease, or for servers with an older copy
  if (!mirror_.BeginCopy(moved, times_.now(), options_.send_again_after)) return;
  Send(*host, MirrorUpdate{.record = RecordAll()}, out);
}

}  // namespace attune::ps
