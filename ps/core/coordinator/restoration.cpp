#include "ps/core/coordinator/restoration.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/status.h"

namespace attune::ps {
namespace {

// Who has answered without all tables that workers know.
std::vector<NodeId> WithoutTables(const CoordinatorRecord& record, const PreviousMembers& previous) {
  std::vector<NodeId> without;
  for (const auto& [id, former] : previous) {
    for (size_t i = 0; former.answer && i < record.tables.size(); ++i) {
      const bool has = std::ranges::find(former.answer->tables, TableId(static_cast<uint32_t>(i + 1)),
                                         &InstallTable::table) != former.answer->tables.end();
      if (record.tables[i].opened && !has) without.push_back(id);
    }
  }
  return without;
}

}  // namespace

void Restoration::Restore(const ShardMap& map, const CoordinatorRecord& record, const PreviousMembers& previous,
                          CoordinatorOutputs& out) {
  RestoreStarted(record);
  const Lost lost = RestoreMembers(map, record, previous);
  pace_.RestoreSteps(previous);
  tables_.Restore(record, previous);
  leases_.Restore(record, out);
  RestoreMap(map, lost, WithoutTables(record, previous), out);
  out.events.push_back("coordinator of term " + std::to_string(job_.options().term) + ": " +
                       std::to_string(job_.members().size()) + " members have answered, " +
                       std::to_string(lost.nodes.size()) + " are lost; the job continues");
  AnswerOthers(previous, out);
  placement_.NoteChange();
  replies_.NoteChange();
  RestoreClocks();
}

// What the job was started with, and what only a coordinator knows.
void Restoration::RestoreStarted(const CoordinatorRecord& record) {
  job_.Restore(record);
  recoveries_.SetNewest(record.newest, record.newest_steps);
  recoveries_.RestoreModelLost(record.model_lost);
  pace_.Restore(record);
  placement_.Restore(record);
  goals_.Restore(record);
}

// Members that have answered continue.
Restoration::Lost Restoration::RestoreMembers(const ShardMap& map, const CoordinatorRecord& record,
                                              const PreviousMembers& previous) {
  Lost lost;
  MemberTable& members = job_.members();
  for (const auto& [id, former] : previous) members.ReserveBelow(id.Next());
  for (const Member& member : map.members) {
    members.ReserveBelow(member.node.Next());
    const auto former = previous.find(member.node);
    const auto recorded = std::ranges::find(record.nodes, member.node, &CoordinatorRecord::Node::node);
    const bool removed_before = WasRemovedBefore(record, member.node);
    if (former == previous.end() || !former->second.answer || removed_before) {
      lost.nodes.push_back(member.node);
      lost.recovery = lost.recovery || member.may_own_rows();
      if (member.role == Role::kWorker && !removed_before) goals_.NoteLost();
      if (former != previous.end() && removed_before) continue;  // hears so as one that has left
      members.NoteGone(member.node, former != previous.end() ? former->second.join.incarnation : 0,
                       Error(StatusCode::kAborted, "this node was lost together with a coordinator"), job_.now());
      continue;
    }
    MemberState& node = members.Restore(member, former->second.connection);
    watch_.Heard(node);
    node.last = former->second.answer->standing;
    node.uses_leases = recorded != record.nodes.end() && recorded->uses_leases;
    if (former->second.answer->mirror) replies_.NoteOlderCopy(member.node);
  }
  return lost;
}

// The newest map, without those who are lost.
void Restoration::RestoreMap(const ShardMap& map, const Lost& lost, const std::vector<NodeId>& without_tables,
                             CoordinatorOutputs& out) {
  Leadership& leadership = job_.leadership();
  leadership.RestoreFormerVoters(map.former_voters);
  for (const NodeId node : lost.nodes) {
    if (const Member* member = map.Find(node); member->role == Role::kServer) leadership.KeepAsFormerVoter(*member);
  }
  if (lost.recovery) recoveries_.Begin(map.recoveries);
  ShardMap next = lost.nodes.empty() ? map : WithoutFailed(map, lost.nodes, without_tables);
  next.version = MapVersion(job_.options().term, 1);
  if (lost.recovery) {
    next.recovered_at = next.version;
    for (Shard& shard : next.shards) {
      shard.routing_since = next.version;
      if (shard.uncovered_at > map.version) shard.uncovered_at = next.version;
      if (shard.next_backup != NodeId()) shard.join_id = next.version;
    }
    if (const size_t uncovered = CountUncovered(map, lost.nodes); uncovered > 0) {
      departures_.TakeFromNewest();
      out.events.push_back("servers were lost with the coordinator" +
                           recoveries_.DescribeLoss(uncovered, job_.members().TotalSteps()));
    }
  } else if (!lost.nodes.empty()) {  // workers without rows: nothing to recover
    next.shards = map.shards;
    next.recovered_at = map.recovered_at;
    next.recoveries = map.recoveries;
  }
  next.members = job_.members().Members();
  leadership.AssignVotes(next, job_.now());
  job_.SetMap(std::move(next));
}

// Those that are no members any more.
void Restoration::AnswerOthers(const PreviousMembers& previous, CoordinatorOutputs& out) {
  MemberTable& members = job_.members();
  const Status unknown = Error(StatusCode::kAborted, "this server is no longer a member of the job; start it again");
  for (const auto& [id, former] : previous) {
    if (!former.connection || members.contains(id)) continue;
    if (const auto* gone = members.gone().Find(id); gone != nullptr) {  // it came too late
      members.Connect(*former.connection, id);
      if (!gone->why.ok()) out.send.push_back({.to = *former.connection, .message = SessionLost{gone->why}});
      continue;
    }
    if (former.join.role == Role::kServer) {
      out.send.push_back({.to = *former.connection, .message = SessionLost{.status = unknown}});
    } else {
      members.ForgetFormer(*former.connection, former.join, job_.now());
    }
  }
}

void Restoration::RestoreClocks() {
  std::vector<ClockBoard::Standing> standing;
  for (const auto& [id, node] : job_.members()) {
    if (node.member.role != Role::kWorker) continue;
    standing.push_back({id, leases_.HasWork(node), node.last.clock, node.last.begun});
  }
  pace_.Restore(standing);
}

}  // namespace attune::ps
