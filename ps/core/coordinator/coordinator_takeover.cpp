// A coordinator that follows another one: promises of all members, then the state from their answers
// (docs/protocol.md#another-coordinator).
#include <algorithm>
#include <utility>

#include "ps/core/coordinator/coordinator_core.h"

namespace attune::ps {
namespace {

std::string HowToGoOn(const RestorePoint& newest) {
  if (newest.checkpoint == 0) return "there is no checkpoint: start the job again";
  return "`attune run --resume " + newest.directory + "` continues from checkpoint " +
         std::to_string(newest.checkpoint) + " at step " + std::to_string(newest.clock);
}

}  // namespace

void CoordinatorCore::AskForPromise(const Takeover::Question& question, CoordinatorOutputs& out) {
  out.send.push_back(
      {.to = question.to, .message = Promise{leadership_.Ask(question.node, question.role, times_.now())}});
}

void CoordinatorCore::OnFormerMember(ConnectionId from, const Join& join, CoordinatorOutputs& out) {
  if (join.job_uid != options_.job_uid) {
    const Status status = CheckJoin(join);
    out.send.push_back({.to = from, .message = JoinRefused{.status = status}});
    return;
  }
  if (const auto question = takeover_.OnJoin(from, join)) AskForPromise(*question, out);
}

void CoordinatorCore::OnPromised(ConnectionId from, const Promised& message, MonotonicTime now) {
  for (const NodeId node : takeover_.OnPromised(from, message, now)) {
    leadership_.OnSupport(node, message.standing.supports, message.map.version, times_.now());
  }
}

void CoordinatorCore::AskForPromisesAgain(CoordinatorOutputs& out) {
  if (!times_.TakeAgain(options_.leader_lease / 4)) return;  // what servers have answered ages
  for (const Takeover::Question& question : takeover_.ToAskAgain()) AskForPromise(question, out);
}

// The process ends, and another server is appointed.
void CoordinatorCore::EndWithItsServer(ConnectionId server, CoordinatorOutputs& out) {
  const Status why = Error(StatusCode::kAborted, "this server was declared lost before its coordinator of term " +
                                                     std::to_string(options_.term) +
                                                     " had begun; start it again, another server takes over");
  out.events.push_back(std::string(attune::Message(why)));
  out.send.push_back({.to = server, .message = SessionLost{.status = why}});
  superseded_ = out.superseded = true;
}

// Acts when no earlier coordinator can be leading, this one is, and every member of the newest map has answered or
// counts as lost.
void CoordinatorCore::GoOnWithTakeover(MonotonicTime now, CoordinatorOutputs& out) {
  if (!failed_.ok()) return;
  const std::optional<Takeover::Newest> newest = takeover_.FindNewest();
  if (!newest) return;
  const ShardMap& map = newest->map;
  for (const Takeover::Question& question : takeover_.Recognize(map)) AskForPromise(question, out);
  for (const ConnectionId to : takeover_.PassOn(map)) out.send.push_back({.to = to, .message = MapUpdate{.map = map}});
  if (const auto server = takeover_.LostHost(map)) return EndWithItsServer(*server, out);
  takeover_.Configure(map, leadership_.lease());
  const bool ended = takeover_.OldLeaseEnded(*newest, leadership_.configurations(), now);
  leadership_.WantConfirmationOfTakeover(
      map, ended, [this](NodeId node) { return takeover_.AnswerOf(node) != nullptr; }, now);
  takeover_.NoteLeads(ended && leadership_.Held(now), now);
  if (const std::string missing = takeover_.Missing(*newest, now); !missing.empty()) {
    if (takeover_.MayReport(now)) out.events.push_back("taking over; not heard of yet: " + missing);
    return;
  }
  if (newest->record == nullptr) return FailWithoutRecord(map, out);
  if (!takeover_.AnyServerAnswered(map)) return;  // the server it runs in will answer
  TakeOver(ShardMap(map), CoordinatorRecord(*newest->record), now, out);
}

void CoordinatorCore::FailWithoutRecord(const ShardMap& map, CoordinatorOutputs& out) {
  phase_ = Phase::kLeading;
  map_ = map;
  const Status why =
      Error(StatusCode::kDataLoss,
            "the coordinator and the server with the copy of its state are both lost, so no process knows "
            "which data is done; " +
                HowToGoOn(options_.newest_checkpoint));
  for (const auto& [id, member] : takeover_.members()) {
    if (member.connection) out.send.push_back({.to = *member.connection, .message = SessionLost{.status = why}});
  }
  FailJob(why, out);
}

void CoordinatorCore::TakeOver(const ShardMap& map, const CoordinatorRecord& record, MonotonicTime now,
                               CoordinatorOutputs& out) {
  phase_ = Phase::kLeading;
  const PreviousMembers previous = takeover_.End();
  RestoreFrom(record, now);
  std::vector<NodeId> dead;
  const bool recovery = RestoreMembers(map, record, previous, now, dead);
  RestoreSteps(previous);
  RestoreTables(record, previous);
  RestoreLeases(record, out);
  std::vector<NodeId> without_tables;
  for (const auto& [id, former] : previous) {
    for (size_t i = 0; former.answer && i < record.tables.size(); ++i) {
      const bool has = std::ranges::find(former.answer->tables, TableId(static_cast<uint32_t>(i + 1)),
                                         &InstallTable::table) != former.answer->tables.end();
      if (record.tables[i].opened && !has) without_tables.push_back(id);
    }
  }
  leadership_.RestoreFormerVoters(map.former_voters);
  for (const NodeId node : dead) {
    if (const Member* member = map.Find(node); member->role == Role::kServer) leadership_.KeepAsFormerVoter(*member);
  }
  map_ = map;
  if (recovery) recoveries_.Begin(map_.recoveries);
  if (!dead.empty()) map_ = WithoutFailed(map, dead, without_tables);
  map_.version = MapVersion(options_.term, 1);
  if (recovery) {
    map_.recovered_at = map_.version;
    for (Shard& shard : map_.shards) shard.routing_since = map_.version;
    const auto lost = [&](NodeId node) { return node == NodeId() || std::ranges::find(dead, node) != dead.end(); };
    const auto uncovered =
        std::ranges::count_if(map.shards, [&](const Shard& shard) { return lost(shard.home) && lost(shard.backup); });
    if (uncovered > 0) {
      TakeFromNewest();
      out.events.push_back("servers were lost with the coordinator" +
                           recoveries_.DescribeLoss(static_cast<size_t>(uncovered), members_.TotalSteps()));
    }
  } else if (!dead.empty()) {  // workers without rows: nothing to recover
    map_.shards = map.shards;
    map_.recovered_at = map.recovered_at;
    map_.recoveries = map.recoveries;
  }
  out.events.push_back("coordinator of term " + std::to_string(options_.term) + ": " + std::to_string(members_.size()) +
                       " members have answered, " + std::to_string(dead.size()) + " are lost; the job continues");
  const Status unknown = Error(StatusCode::kAborted, "this server is no longer a member of the job; start it again");
  for (const auto& [id, former] : previous) {
    if (!former.connection || members_.contains(id)) continue;
    if (const auto* gone = members_.gone().Find(id); gone != nullptr) {  // it came too late
      members_.Connect(*former.connection, id);
      if (!gone->why.ok()) out.send.push_back({.to = *former.connection, .message = SessionLost{gone->why}});
      continue;
    }
    if (former.join.role == Role::kServer) {
      out.send.push_back({.to = *former.connection, .message = SessionLost{.status = unknown}});
    } else {
      members_.ForgetFormer(*former.connection, former.join, times_.now());
    }
  }
  map_.members = members_.Members();
  leadership_.AssignVotes(map_, times_.now());
  placement_.NoteChange();
  mirror_.NoteChange();
  std::vector<ClockBoard::Standing> standing;
  for (const auto& [id, node] : members_) {
    if (node.member.role == Role::kWorker) standing.push_back({id, HasWork(node), node.last.clock, node.last.begun});
  }
  clocks_.Restore(standing);
  for (auto& [id, node] : members_) {
    SendWelcome(node, out);
    if (node.member.role == Role::kServer) SendOpenOrders(node, out);
  }
  CheckGoals(now, out);
  FinishWhenEmpty(out);
}

// Members that have answered continue; who is lost goes into `dead`. True when rows are to be recovered.
bool CoordinatorCore::RestoreMembers(const ShardMap& map, const CoordinatorRecord& record,
                                     const PreviousMembers& previous, MonotonicTime now, std::vector<NodeId>& dead) {
  bool recovery = false;
  for (const auto& [id, former] : previous) members_.ReserveBelow(id.Next());
  for (const Member& member : map.members) {
    members_.ReserveBelow(member.node.Next());
    const auto former = previous.find(member.node);
    const auto recorded = std::ranges::find(record.nodes, member.node, &CoordinatorRecord::Node::node);
    const bool removed_before = WasRemovedBefore(record, member.node);
    if (former == previous.end() || !former->second.answer || removed_before) {
      dead.push_back(member.node);
      recovery = recovery || member.may_own_rows();
      if (member.role == Role::kWorker && !removed_before) end_.NoteLost(members_.next());
      if (former != previous.end() && removed_before) continue;  // hears so as one that has left
      members_.NoteGone(member.node, former != previous.end() ? former->second.join.incarnation : 0,
                        Error(StatusCode::kAborted, "this node was lost together with a coordinator"), now);
      continue;
    }
    Node& node = members_.Restore(member, former->second.connection);
    Heard(node, now);
    node.last = former->second.answer->standing;
    node.uses_leases = recorded != record.nodes.end() && recorded->uses_leases;
    if (former->second.answer->mirror) mirror_.NoteOlderCopy(member.node);
  }
  return recovery;
}

void CoordinatorCore::RestoreFrom(const CoordinatorRecord& record, MonotonicTime now) {
  options_.goal = record.goal;
  options_.items = record.items;
  options_.lease_items = record.lease_items;
  options_.servers = record.servers;
  options_.backups = record.backups;
  options_.load = record.load;
  tables_.SetLoad(record.load);
  options_.resume = record.resume;
  recoveries_.SetNewest(record.newest, record.newest_steps);
  if (const auto mode = ParseSyncMode(record.synchronization); mode.ok()) clocks_.Restore(*mode, 0);
  placement_.Want(record.servers_wanted);
  members_.ReserveBelow(record.next_node);
  members_.SetStepsOfGone(record.steps_of_gone);
  training_.Restore(record, now);
  recoveries_.RestoreModelLost(record.model_lost);
  end_.Restore(record.goal_reached, record.closing_from);
}

void CoordinatorCore::RestoreTables(const CoordinatorRecord& record, const PreviousMembers& previous) {
  std::map<TableId, TableSpec> found;
  for (const auto& [id, former] : previous) {
    if (!former.answer || options_.mutations.tables_numbered_anew) continue;
    for (const InstallTable& table : former.answer->tables) found.emplace(table.table, table.spec);
  }
  tables_.Restore(record.tables, found, members_.Servers(), times_.now());
}

void CoordinatorCore::RestoreLeases(const CoordinatorRecord& record, CoordinatorOutputs& out) {
  const auto held_by = [this](NodeId worker) {
    const Node* node = members_.Find(worker);
    return node == nullptr ? nullptr : &node->last.leases;
  };
  for (CoordinatorRecord::DataSet kept : record.data_sets) {
    if (options_.mutations.mirror_ignored) {
      kept.progress.done.clear();
      kept.progress.finished_epochs = 0;
    }
    const uint64_t again = data_sets_.Restore(kept, training_.evaluations().state().due, held_by,
                                              !options_.mutations.adopted_leases_granted);
    if (again == 0) continue;
    out.events.push_back(std::to_string(again) + " items of \"" + kept.progress.name +
                         "\" go to others: their workers were lost with the coordinator");
  }
}

}  // namespace attune::ps
