// Where shards lie: servers that join, drain or fail, copies, and one batch of changes after another
// (docs/protocol.md#where-shards-lie).
#include <algorithm>
#include <array>
#include <utility>

#include "ps/core/coordinator/coordinator_core.h"
#include "ps/core/membership/placement_batch.h"
#include "ps/core/membership/placement_planner.h"
#include "ps/core/protocol/incarnation.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

void CoordinatorCore::OnMessage(Node& node, const RowsReport& message, MonotonicTime, CoordinatorOutputs&) {
  leadership_.Knows(node.member.node, message.map_version);
  const auto grown = members_.OnRows(node, message);
  if (!grown) return;
  recoveries_.Add(grown->shards_restored, grown->rows_restored, grown->reinitialized);
  placement_.NoteChange();
}

// Nodes that were asked to leave, or have asked, and hold nothing any more. Not the server this one runs in, which may
// have been drained when the coordinator came to it: another one has to follow before that server goes.
bool CoordinatorCore::ReleaseLeavers(CoordinatorOutputs& out) {
  std::vector<NodeId> released;
  for (const auto& [id, node] : members_) {
    if (!node.member.leaving || leadership_.IsHost(node.member) || !MemberTable::IsEmpty(node, map_)) continue;
    if (!cuts_.HasOpenPart(id) && !Leadership::MayVote(id, map_)) released.push_back(id);
  }
  for (const NodeId id : released) {
    Node& node = members_.at(id);
    if (node.leave) {
      EndLeave(id, out);
      continue;
    }
    out.events.push_back(members_.Name(id) + " is drained and released");
    Send(node, Finished{}, out);
    Remove(id, OkStatus());
  }
  if (!released.empty()) PublishMembers(out);
  return !released.empty();
}

PlacementGoal CoordinatorCore::GoalOfPlacement(std::vector<NodeId> servers) const {
  PlacementGoal goal = GoalOf(std::move(servers), options_.backups, members_);
  if (options_.mutations.copies_on_any_machine) goal.machines.clear();
  return goal;
}

void CoordinatorCore::GoOnWithPlacement(MonotonicTime now, CoordinatorOutputs& out) {
  if (!placement_.TakeChange()) return;
  if (IsFinished()) return;  // servers end in the middle of whatever would begin now
  if (!map_.formed() || !failed_.ok() || members_.without_server() || !members_.AllReady(map_)) return;
  if (tables_.IsLoading()) {
    placement_.NoteChange();
    return;
  }
  if (cuts_.Marking()) {  // rows that move while others are copied would be missed or copied twice
    placement_.NoteChange();
    return;
  }
  if (recoveries_.End()) {
    out.events.push_back("recovery " + std::to_string(map_.recoveries) + " is complete; " + recoveries_.DescribeEnd());
  }
  if (auto next = WithCompletedBackups(map_, members_)) return Publish(*std::move(next), out);
  if (IsChanging(map_, members_)) return;
  const std::vector<NodeId> servers = EligibleServers(
      map_, members_, [this](NodeId id) { return tables_.HasAll(id) && IsReachedByAll(id, map_, members_, links_); });
  std::vector<PlacementChange> changes;
  if (!servers.empty()) changes = PlanPlacement(map_, GoalOfPlacement(servers));
  placement_.NoteToChange(changes.size());
  if (!changes.empty()) {
    if (placement_.BeginMoving()) {
      out.events.push_back(std::to_string(changes.size()) + " shards change their place, " +
                           std::to_string(servers.size()) + " servers share them");
    }
    const size_t batch = BatchSize(map_, members_, options_.shard_changes_max, options_.row_changes_max);
    changes.resize(std::min(changes.size(), batch));
    return Publish(WithChanges(map_, changes, map_.version.Next()), out);
  }
  if (ReleaseLeavers(out)) return;
  // A server without the tables is not used yet.
  const bool in_use = std::ranges::all_of(members_, [&](const auto& entry) {
    const Node& node = entry.second;
    return node.member.role != Role::kServer || node.member.leaving ||
           std::ranges::find(servers, entry.first) != servers.end();
  });
  if (placement_.Settle(in_use)) out.events.push_back("all shards have their place");
  AnswerPlacementOrders(now, out);
}

void CoordinatorCore::AnswerPlacementOrders(MonotonicTime now, CoordinatorOutputs& out) {
  PlacementOrders::Servers servers;
  for (const auto& [id, node] : members_) {
    if (node.member.role != Role::kServer) continue;
    if (!links_.HasAllLinks(id)) servers.apart += "; " + members_.Name(id) + " has no connection to some members yet";
    servers.any_leaves = servers.any_leaves || node.member.leaving;
    servers.staying += node.member.leaving ? 0 : 1;
  }
  const auto is_here = [this](NodeId id) { return members_.contains(id); };
  for (CommandResult& result : placement_.TakeAnswered(now, leadership_.Held(now), servers, is_here)) {
    out.command_results.push_back(std::move(result));
  }
}

// --- commands

void CoordinatorCore::OnCommand(CommandId id, const DrainServer& command, MonotonicTime deadline,
                                CoordinatorOutputs& out) {
  const auto refuse = [&](const std::string& text) {
    Answer(id, Error(StatusCode::kFailedPrecondition, "draining server " + std::to_string(command.index) + ": " + text),
           {}, out);
  };
  if (!map_.formed()) return refuse("the job does not serve yet");
  if (command.index == options_.host_index) return refuse("the job's coordinator runs there; drain another one");
  Node* server = nullptr;
  bool others = false;
  for (auto& [node_id, node] : members_) {
    if (node.member.role != Role::kServer || node.lost) continue;
    if (node.member.index == command.index) {
      server = &node;
    } else {
      others = others || !node.member.leaving;
    }
  }
  if (server == nullptr) return Answer(id, OkStatus(), "there is no such server", out);
  if (!others) return refuse("it is the last one; start another one first");
  if (placement_.IsFull()) return refuse("too many orders wait");
  placement_.AddDrain(id, server->member.node, deadline);
  if (std::exchange(server->member.leaving, true)) return;
  out.events.push_back(members_.Name(server->member.node) + " is being drained");
  PublishMembers(out);
}

void CoordinatorCore::OnCommand(CommandId id, const SetServers& command, MonotonicTime deadline,
                                CoordinatorOutputs& out) {
  if (command.servers == 0 || command.servers > kServersMax || !map_.formed()) {
    return Answer(id,
                  Error(StatusCode::kInvalidArgument,
                        "servers: 1 to " + std::to_string(kServersMax) + " are allowed, once the job serves"),
                  {}, out);
  }
  if (options_.host_index && command.servers <= *options_.host_index) {
    return Answer(id,
                  Error(StatusCode::kFailedPrecondition, "server " + std::to_string(*options_.host_index) +
                                                             " would go, and the job's coordinator runs there"),
                  {}, out);
  }
  if (placement_.IsFull()) {
    return Answer(id, Error(StatusCode::kResourceExhausted, "too many orders wait; wait for some"), {}, out);
  }
  placement_.Want(command.servers);
  mirror_.NoteChange();
  const bool any_stays = members_.AnyServerBelow(command.servers);
  for (auto& [node_id, node] : members_) {
    if (node.member.role != Role::kServer) continue;
    node.member.leaving = node.member.index >= command.servers && any_stays;
  }
  placement_.AddCount(id, deadline);
  PublishMembers(out);
}

void CoordinatorCore::OnCommand(CommandId id, const SetBackups& command, MonotonicTime, CoordinatorOutputs& out) {
  if (command.backups > 1) {
    return Answer(id, Error(StatusCode::kInvalidArgument, "backups: 0 or 1 are allowed"), {}, out);
  }
  options_.backups = command.backups;
  mirror_.NoteChange();
  placement_.NoteChange();
  Answer(id, OkStatus(), "backups: " + std::to_string(command.backups), out);
}

void CoordinatorCore::OnCommand(CommandId id, const NodeGone& command, MonotonicTime deadline,
                                CoordinatorOutputs& out) {
  if (gone_orders_.IsFull()) {
    return Answer(id, Error(StatusCode::kResourceExhausted, "too many ended processes are reported; ask again"), {},
                  out);
  }
  gone_orders_.Add(id, command, deadline);
  if (TakingOver()) takeover_.NoteGone(command.role, command.index, command.pod, times_.now());
  leadership_.ExcludeFormerVoter(command.role, command.index, command.pod);
  if (members_.NoteSaidGone(command.role, command.index, command.pod, times_.now())) LoseTheGone(times_.now(), out);
}

void CoordinatorCore::AnswerGoneOrders(MonotonicTime now, CoordinatorOutputs& out) {
  const auto has_part = [this](const NodeGone& gone) {
    const auto is_it = [&](const Member& member) {
      return member.role == gone.role && member.index == gone.index && PodOf(member.incarnation) == gone.pod;
    };
    return std::ranges::any_of(leadership_.former_voters(), is_it) ||
           std::ranges::any_of(members_,
                               [&](const auto& entry) { return is_it(entry.second.member) && !entry.second.lost; });
  };
  const auto is_known = [this](MapVersion map) {
    return std::ranges::all_of(members_, [&](const auto& entry) {
      const Node& node = entry.second;
      return node.member.role != Role::kServer || node.lost || node.known_map() >= map;
    });
  };
  for (CommandResult& result : gone_orders_.TakeAnswered(now, map_.version, !TakingOver(), has_part, is_known)) {
    out.command_results.push_back(std::move(result));
  }
}

// --- losses

void CoordinatorCore::LoseNode(NodeId id, const Status& reason, CoordinatorOutputs& out) {
  if (members_.at(id).member.role == Role::kWorker) return LoseWorker(id, reason, out);
  LoseServer(id, reason, out);
}

// Homes go to the backups; shards without one go to other servers, which restore what they can
// (docs/protocol.md#a-crash).
void CoordinatorCore::LoseServer(NodeId id, const Status& reason, CoordinatorOutputs& out) {
  if (IsFinished()) return Remove(id, reason);
  if (!map_.formed()) {
    out.events.push_back(std::string(attune::Message(reason)) + "; it may join again");
    return Remove(id, reason);
  }
  const bool others = std::ranges::any_of(members_, [&](const auto& entry) {
    return entry.second.member.role == Role::kServer && entry.first != id && !entry.second.lost;
  });
  Node& node = members_.at(id);
  if (node.lost) return;
  if (others) Send(node, SessionLost{.status = reason}, out);  // else it may still come back
  size_t uncovered = 0;
  for (const Shard& shard : map_.shards) uncovered += shard.home == id && shard.backup == NodeId() ? 1 : 0;
  out.events.push_back(members_.Name(id) + " is lost: " + std::string(attune::Message(reason)) +
                       (uncovered == 0 ? "; every shard it was home of has a copy"
                                       : recoveries_.DescribeLoss(uncovered, members_.TotalSteps())));
  if (!others) {
    members_.NoteLastServerLost(node, times_.now());
    out.events.push_back("no server is left; waiting for another one");
    return;
  }
  if (uncovered > 0) TakeFromNewest();
  Remove(id, reason);
  recoveries_.Begin(map_.recoveries);
  Publish(WithoutFailed(map_, std::array{id}, tables_.ServersWithout()), out);
}

void CoordinatorCore::ReplaceLastServer(CoordinatorOutputs& out) {
  const std::vector<NodeId> lost = members_.TakeLostServers();
  TakeFromNewest();
  recoveries_.Begin(map_.recoveries);
  map_.members = members_.Members();
  for (const NodeId id : lost) Remove(id, Error(StatusCode::kAborted, members_.Name(id) + " was lost"));
  Publish(WithoutFailed(map_, lost), out);
}

}  // namespace attune::ps
