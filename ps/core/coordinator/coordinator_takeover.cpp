// A coordinator that follows another one: promises of all members, then the state from their answers
// (docs/protocol.md#another-coordinator).
#include <algorithm>
#include <utility>

#include "ps/core/coordinator/coordinator_core.h"
#include "ps/core/protocol/incarnation.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

constexpr size_t kFormersMax = 2 * kMembersMax;  // members, and those of them that came back as other nodes

std::string HowToGoOn(const RestorePoint& newest) {
  if (newest.checkpoint == 0) return "there is no checkpoint: start the job again";
  return "`attune run --resume " + newest.directory + "` continues from checkpoint " +
         std::to_string(newest.checkpoint) + " at step " + std::to_string(newest.clock);
}

// Whether the server that runs this coordinator has answered: others may be quicker, with a map that is older than its
// joining and without the copy that it keeps.
bool HostHasAnswered(const auto& previous, std::optional<uint32_t> host_index) {
  return !host_index || std::ranges::any_of(previous, [&](const auto& entry) {
    const auto& former = entry.second;
    return former.answer && former.join.role == Role::kServer && former.join.index == *host_index;
  });
}

// It has left, or was lost, before the copy was made; else it came later.
bool WasRemovedBefore(const CoordinatorRecord& record, NodeId node) {
  return std::ranges::find(record.nodes, node, &CoordinatorRecord::Node::node) == record.nodes.end() &&
         node.value() + static_cast<uint32_t>(kMembersMax) < record.next_node.value();
}

// A server hears where the coordinator is from the others, and those only from maps that it is there: the last map may
// have reached no member but the server that joined with it. Not the map of a recovery, before which a server has to
// hear of the newest checkpoint.
void PassOnMap(const ShardMap& map, auto& previous, CoordinatorOutputs& out) {
  for (auto& [id, former] : previous) {
    if (!former.connection || !former.answer || former.join.role != Role::kServer) continue;
    ShardMap& known = former.answer->map;
    if (known.version >= map.version || known.version < map.recovered_at || !map.Contains(id)) continue;
    out.send.push_back({.to = *former.connection, .message = MapUpdate{.map = map}});
    known = map;  // or it joins again, and answers again
  }
}

}  // namespace

// Joining members ask again. One of them may be a member that had no map yet, or have taken a member's place.
void CoordinatorCore::OnFormerMember(ConnectionId from, const Join& join, CoordinatorOutputs& out) {
  if (join.job_uid != options_.job_uid) {
    const Status status = CheckJoin(join);
    out.send.push_back({.to = from, .message = JoinRefused{.status = status}});
    return;
  }
  if (join.node == NodeId()) {
    if (joining_.size() >= kMembersMax) return;
    joining_[{join.role, join.index, join.incarnation}] = {.join = join, .connection = from, .answer = {}};
    return;
  }
  if (formers_.size() >= kFormersMax && !formers_.contains(join.node)) return;
  Former& former = formers_[join.node];
  former.join = join;
  former.connection = from;
  out.send.push_back({.to = from, .message = Promise{AskForSupport(join.node, join.role)}});
}

// Every node is a member of the map that it has.
void CoordinatorCore::OnPromised(ConnectionId from, const Promised& message, MonotonicTime now) {
  for (auto& [id, former] : formers_) {
    if (former.connection != from) continue;
    const Member* self = message.map.Find(id);
    if (message.map.formed() && (self == nullptr || self->role != former.join.role)) continue;
    std::optional<CoordinatorRecord> copy = former.answer ? std::move(former.answer->mirror) : std::nullopt;
    former.answer = message;
    // It drops an old copy with the map that it is passed on. No caller has been answered then with what that one does
    // not know.
    if (!former.answer->mirror) former.answer->mirror = std::move(copy);
    former.support_ends = now + message.support_left;
    OnSupport(id, message.standing.supports, message.map.version);
  }
}

// A node keeps its number only with a map, so members that had none yet come without: the map says which process each
// of them is.
void CoordinatorCore::RecognizeMembers(const ShardMap& map, CoordinatorOutputs& out) {
  for (const Member& member : map.members) {
    const auto joining = joining_.find({member.role, member.index, member.incarnation});
    if (joining == joining_.end() || !joining->second.connection) continue;
    Former& former = formers_[member.node];
    former.join = joining->second.join;
    former.connection = std::exchange(joining->second.connection, std::nullopt);
    out.send.push_back({.to = *former.connection, .message = Promise{AskForSupport(member.node, member.role)}});
  }
}

void CoordinatorCore::AskForPromisesAgain(MonotonicTime now, CoordinatorOutputs& out) {
  if (now < next_again_) return;
  next_again_ = now + options_.leader_lease / 4;  // what servers have answered ages
  for (const auto& [id, former] : formers_) {
    if (!former.connection || (former.answer && former.join.role == Role::kWorker)) continue;
    out.send.push_back({.to = *former.connection, .message = Promise{AskForSupport(id, former.join.role)}});
  }
}

// By the platform's word, or because another process has come with its role and index.
bool CoordinatorCore::ProvenGone(const Member& member) const {
  if (AnswerOf(member.node) != nullptr) return false;
  for (const uint32_t pod : {PodOf(member.incarnation), 0U}) {
    if (proven_gone_.contains({member.role, member.index, pod})) return true;
  }
  for (auto it = joining_.lower_bound({member.role, member.index, 0}); it != joining_.end(); ++it) {
    const auto& [role, index, incarnation] = it->first;
    if (role != member.role || index != member.index) return false;
    if (incarnation != member.incarnation) return true;
  }
  return false;
}

const Promised* CoordinatorCore::AnswerOf(NodeId node) const {
  const auto former = formers_.find(node);
  return former == formers_.end() || !former->second.answer ? nullptr : &*former->second.answer;
}

const ShardMap* CoordinatorCore::NewestMap() const {
  const ShardMap* newest = nullptr;
  for (const auto& [id, former] : formers_) {
    if (!former.answer) continue;
    if (newest == nullptr || former.answer->map.version > newest->version) newest = &former.answer->map;
  }
  return newest;
}

// A copy at a server that the map has not any more is an old one: its coordinator has gone on without it.
const CoordinatorRecord* CoordinatorCore::NewestRecord(const ShardMap& map) const {
  const CoordinatorRecord* newest = nullptr;
  for (const auto& [id, former] : formers_) {
    if (!former.answer || !former.answer->mirror || !map.Contains(id)) continue;
    const CoordinatorRecord& record = *former.answer->mirror;
    if (newest == nullptr || record.number > newest->number) newest = &record;
  }
  return newest;
}

// The old coordinator has declared this one's server lost meanwhile: the process ends, and another server is appointed.
bool CoordinatorCore::HasLostItsServer(const ShardMap& map, CoordinatorOutputs& out) {
  for (const auto& [id, former] : formers_) {
    const Join& join = former.join;
    const bool host = join.role == Role::kServer && join.index == options_.host_index;
    if (!host || !former.connection || !former.answer || map.Contains(id)) continue;
    const Status why = Error(StatusCode::kAborted, "this server was declared lost before its coordinator of term " +
                                                       std::to_string(options_.term) +
                                                       " had begun; start it again, another server takes over");
    out.events.push_back(std::string(attune::Message(why)));
    out.send.push_back({.to = *former.connection, .message = SessionLost{.status = why}});
    superseded_ = out.superseded = true;
    return true;
  }
  return false;
}

// The platform has named its very process: nothing of it can be in flight, and it supports no coordinator any more.
bool CoordinatorCore::IsProven(const Member& member) const {
  const uint32_t pod = PodOf(member.incarnation);
  return pod != 0 && AnswerOf(member.node) == nullptr && proven_gone_.contains({member.role, member.index, pod});
}

// Who decides about the lease of the coordinators before: the voters that the newest map names, or those that the
// operator has confirmed since.
void CoordinatorCore::ConfigureTakeover(const ShardMap& map) {
  if (takeover_map_ < map.version) {
    takeover_map_ = map.version;
    lease_.Adopt(VotersOf(map));
    if (options_.voters) lease_.Confirm(*options_.voters);
  }
  for (const std::vector<Member>* servers : {&map.members, &map.former_voters}) {
    for (const Member& member : *servers) {
      if (member.role == Role::kServer && IsProven(member)) lease_.Exclude(member.node);
    }
  }
}

// Only once no earlier coordinator can be leading: what the operator records stands for all of them from then on.
void CoordinatorCore::WantConfirmationOfTakeover(const ShardMap& map, bool old_lease_ended, MonotonicTime now) {
  wanted_voters_.clear();
  if (!LeaseCounts() || !old_lease_ended) return;
  std::vector<NodeId> servers = ServersToGoOnWith(map);
  std::erase_if(servers, [&](NodeId node) { return AnswerOf(node) == nullptr; });
  wanted_voters_ = lease_.Wanted(servers, now, options_.uncovered_timeout);
  wanted_map_ = map.version;
  ConfirmItself();
}

// The coordinator of that term, whose server the copy of its state names, acts no more.
bool CoordinatorCore::HasEnded(uint32_t term, const ShardMap& map, const CoordinatorRecord* record) const {
  if (record == nullptr || record->number >> 32 != term) return false;
  const Member* host = map.Find(record->host);
  return AnswerOf(record->host) != nullptr || (host != nullptr && IsProven(*host));
}

// Whether no coordinator before this one can be leading any more: at least half of the votes of each configuration
// have promised to obey this one, and none of their support for earlier ones counts any longer. A strict majority of
// each is what those would need, and one configuration they have in common (ps/core/membership/leader_lease.h).
bool CoordinatorCore::OldLeaseEnded(const ShardMap& map, const CoordinatorRecord* record, MonotonicTime now) const {
  if (options_.mutations.silence_is_death) return true;
  const bool last_has_ended =
      record != nullptr && record->number >> 32 >= map.version.term() && HasEnded(record->number >> 32, map, record);
  return std::ranges::all_of(lease_.configurations(), [&](const Voters& voters) {
    return OldLeaseEndedFor(voters, last_has_ended, map, record, now);
  });
}

bool CoordinatorCore::OldLeaseEndedFor(const Voters& configuration, bool last_has_ended, const ShardMap& map,
                                       const CoordinatorRecord* record, MonotonicTime now) const {
  uint64_t voters = 0, free = 0;  // votes
  for (size_t i = 0; i < configuration.nodes.size(); ++i) {
    const NodeId node = configuration.nodes[i];
    const uint64_t votes = configuration.VotesAt(i);
    const auto former = formers_.find(node);
    if (former != formers_.end() && former->second.answer) {
      const Promised& answer = *former->second.answer;
      voters += votes;
      if (now >= former->second.support_ends || HasEnded(answer.supported_term, map, record)) free += votes;
      continue;
    }
    // One that is gone has no say, once its last answers count no more.
    const Member* member = map.FindVoter(node);
    const auto gone = member == nullptr ? proven_gone_.end()
                                        : proven_gone_.find({member->role, member->index, PodOf(member->incarnation)});
    const bool counts_no_more = gone != proven_gone_.end() && IsProven(*member) &&
                                (last_has_ended || now - gone->second >= options_.leader_lease);
    if (!counts_no_more) voters += votes;
  }
  return 2 * free >= voters;
}

// Every shard has a member that has answered and keeps its rows, as home or as copy.
bool CoordinatorCore::IsCovered(const ShardMap& map) const {
  return std::ranges::all_of(map.shards, [&](const Shard& shard) {
    return AnswerOf(shard.home) != nullptr || AnswerOf(shard.backup) != nullptr;
  });
}

// The old coordinator's own server. It lives when it has been here: its connection has broken. Until it has had the
// time to hear of this one and to come, it is not known whether the change is an orderly one.
bool CoordinatorCore::MayStillCome(NodeId host, MonotonicTime now) const {
  return formers_.contains(host) || now - began_ < options_.leader_lease / 3;
}

// Who is still to answer, of those who can. Once the old lease has ended, so have all leases that it has given: silent
// members get a lease's time to answer, the old coordinator's server less, if nothing has been heard of it, and more
// where rows depend on it.
std::string CoordinatorCore::Missing(const ShardMap& map, const CoordinatorRecord* record, MonotonicTime now) const {
  const bool covered = IsCovered(map);
  const bool alone = alone_since_ != kNever;
  const Duration timeout = covered ? options_.liveness_lease : options_.uncovered_timeout;
  const bool silent_are_dead = alone && now - alone_since_ >= timeout;
  std::string missing;
  for (const Member& member : map.members) {
    if (AnswerOf(member.node) != nullptr || ProvenGone(member) || silent_are_dead) continue;
    if (record != nullptr && WasRemovedBefore(*record, member.node)) continue;  // no process there to answer
    const bool was_host = record != nullptr && member.node == record->host;
    if (alone && covered && was_host && !MayStillCome(member.node, now)) continue;
    if (options_.mutations.act_before_all_promises && record != nullptr) continue;
    missing += (missing.empty() ? "" : ", ") + Describe(map, member.node);
  }
  // Who is not in that map may know a later one.
  for (const auto& [id, former] : formers_) {
    if (former.answer || !former.connection || map.Contains(id) || silent_are_dead) continue;
    missing += (missing.empty() ? "node " : ", node ") + std::to_string(id.value());
  }
  if (missing.empty() && record == nullptr) {  // the copy may be where no answer has come from
    for (const Member& member : map.members) {
      if (member.role != Role::kServer || AnswerOf(member.node) != nullptr || ProvenGone(member)) continue;
      missing += (missing.empty() ? "" : ", ") + Describe(map, member.node);
    }
  }
  if (missing.empty() && !alone) missing = "a majority of the servers, or the operator's confirmation";
  return missing;
}

// Acts when no earlier coordinator can be leading, this one is, and every member of the newest map has answered or
// counts as lost.
void CoordinatorCore::GoOnWithTakeover(MonotonicTime now, CoordinatorOutputs& out) {
  if (!failed_.ok()) return;
  const ShardMap* map = NewestMap();
  if (map == nullptr || !map->formed() || !HostHasAnswered(formers_, options_.host_index)) return;
  RecognizeMembers(*map, out);
  PassOnMap(*map, formers_, out);
  if (HasLostItsServer(*map, out)) return;
  const CoordinatorRecord* record = NewestRecord(*map);
  ConfigureTakeover(*map);
  const bool ended = OldLeaseEnded(*map, record, now);
  WantConfirmationOfTakeover(*map, ended, now);
  if (!ended || !HoldsLease(now)) {
    alone_since_ = kNever;
  } else if (alone_since_ == kNever) {
    alone_since_ = now;
  }
  const std::string missing = Missing(*map, record, now);
  if (!missing.empty()) {
    if (last_said_ != kNever && now - last_said_ < options_.straggler_after) return;
    if (last_said_ != kNever) out.events.push_back("taking over; not heard of yet: " + missing);
    last_said_ = now;
    return;
  }
  if (record == nullptr) {
    taking_over_ = false;
    map_ = *map;
    const Status why =
        Error(StatusCode::kDataLoss,
              "the coordinator and the server with the copy of its state are both lost, so no process knows "
              "which data is done; " +
                  HowToGoOn(options_.newest_checkpoint));
    for (const auto& [id, former] : formers_) {
      if (former.connection) out.send.push_back({.to = *former.connection, .message = SessionLost{.status = why}});
    }
    return FailJob(why, out);
  }
  const bool any_server = std::ranges::any_of(map->members, [&](const Member& member) {
    return member.role == Role::kServer && AnswerOf(member.node) != nullptr;
  });
  if (!any_server) return;  // the server it runs in will answer
  TakeOver(ShardMap(*map), CoordinatorRecord(*record), now, out);
}

void CoordinatorCore::TakeOver(const ShardMap& map, const CoordinatorRecord& record, MonotonicTime now,
                               CoordinatorOutputs& out) {
  taking_over_ = false;
  RestoreFrom(record, now);
  std::vector<NodeId> dead;
  const bool recovery = RestoreMembers(map, record, now, dead);
  RestoreSteps();
  RestoreTables(record);
  RestoreLeases(record, out);
  std::vector<NodeId> without_tables;
  for (const auto& [id, former] : formers_) {
    for (size_t i = 0; former.answer && i < record.tables.size(); ++i) {
      const bool has = std::ranges::find(former.answer->tables, TableId(static_cast<uint32_t>(i + 1)),
                                         &InstallTable::table) != former.answer->tables.end();
      if (record.tables[i].opened && !has) without_tables.push_back(id);
    }
  }
  former_voters_ = map.former_voters;
  for (const NodeId node : dead) {
    if (const Member* member = map.Find(node); member->role == Role::kServer) KeepAsFormerVoter(*member);
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
                           recoveries_.DescribeLoss(static_cast<size_t>(uncovered), TotalSteps()));
    }
  } else if (!dead.empty()) {  // workers without rows: nothing to recover
    map_.shards = map.shards;
    map_.recovered_at = map.recovered_at;
    map_.recoveries = map.recoveries;
  }
  out.events.push_back("coordinator of term " + std::to_string(options_.term) + ": " + std::to_string(nodes_.size()) +
                       " members have answered, " + std::to_string(dead.size()) + " are lost; the job continues");
  const Status unknown = Error(StatusCode::kAborted, "this server is no longer a member of the job; start it again");
  for (auto& [id, former] : std::exchange(formers_, {})) {
    if (!former.connection || nodes_.contains(id)) continue;
    if (const auto* gone = gone_.Find(id); gone != nullptr) {  // it came too late
      connections_[*former.connection] = id;
      if (!gone->why.ok()) out.send.push_back({.to = *former.connection, .message = SessionLost{gone->why}});
      continue;
    }
    if (former.join.role == Role::kServer) {
      out.send.push_back({.to = *former.connection, .message = SessionLost{.status = unknown}});
    } else {
      ForgetFormer(*former.connection, former.join);
    }
  }
  joining_.clear();
  map_.members = Members();
  AssignVotes(map_);
  placement_changed_ = true;
  mirror_.NoteChange();
  std::vector<ClockBoard::Standing> standing;
  for (const auto& [id, node] : nodes_) {
    if (node.member.role == Role::kWorker) standing.push_back({id, HasWork(node), node.last.clock, node.last.begun});
  }
  clocks_.Restore(standing);
  for (auto& [id, node] : nodes_) {
    SendWelcome(node, out);
    if (node.member.role == Role::kServer) SendOpenOrders(node, out);
  }
  CheckGoals(now, out);
  FinishWhenEmpty(out);
}

// Members that have answered continue; who is lost goes into `dead`. True when rows are to be recovered.
bool CoordinatorCore::RestoreMembers(const ShardMap& map, const CoordinatorRecord& record, MonotonicTime now,
                                     std::vector<NodeId>& dead) {
  bool recovery = false;
  for (const auto& [id, former] : formers_) next_node_ = std::max(next_node_, id.Next());
  for (const Member& member : map.members) {
    next_node_ = std::max(next_node_, member.node.Next());
    const auto former = formers_.find(member.node);
    const auto recorded = std::ranges::find(record.nodes, member.node, &CoordinatorRecord::Node::node);
    const bool removed_before = WasRemovedBefore(record, member.node);
    if (former == formers_.end() || !former->second.answer || removed_before) {
      dead.push_back(member.node);
      recovery = recovery || member.may_own_rows();
      if (member.role == Role::kWorker && !removed_before) NoteWorkerLost();
      if (former != formers_.end() && removed_before) continue;  // hears so as one that has left
      gone_.Add(member.node, former != formers_.end() ? former->second.join.incarnation : 0,
                Error(StatusCode::kAborted, "this node was lost together with a coordinator"), now);
      continue;
    }
    Node& node = nodes_[member.node];
    node.member = member;
    node.connection = former->second.connection;
    Heard(node, now);
    node.last = former->second.answer->standing;
    node.uses_leases = recorded != record.nodes.end() && recorded->uses_leases;
    if (node.connection) connections_[*node.connection] = member.node;
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
  options_.resume = record.resume;
  recoveries_.SetNewest(record.newest, record.newest_steps);
  if (const auto mode = ParseSyncMode(record.synchronization); mode.ok()) clocks_.Restore(*mode, 0);
  servers_wanted_ = record.servers_wanted;
  next_node_ = std::max(next_node_, record.next_node);
  steps_of_gone_ = record.steps_of_gone;
  loss_.Restore(record.smoothed_loss, record.loss_windows);
  recoveries_.RestoreModelLost(record.model_lost);
  goal_reached_ = record.goal_reached;
  closing_from_ = record.closing_from;
  metrics_ = MetricBoard(record.goal.target_metric, record.goal.early_stopping, record.goal.best_checkpoint);
  metrics_.Restore(record.metrics);
  best_ = BestCheckpointKeeper(record.goal.best_checkpoint);
  best_.Restore(record.best);
  evaluations_ = EvaluationSchedule(record.goal.evaluate_every_epochs, record.goal.evaluate_every_steps);
  evaluations_.Restore(record.evaluations);
  if (record.trained_seconds) {
    first_worker_ = now - std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*record.trained_seconds));
  }
}

// Servers may have installed tables that no opener was informed of: their ids are taken. A table that was not open yet
// is loaded by those that have not installed it.
void CoordinatorCore::RestoreTables(const CoordinatorRecord& record) {
  std::set<NodeId> servers;
  for (const auto& [id, node] : nodes_) {
    if (node.member.role == Role::kServer) servers.insert(id);
  }
  const auto add = [&](const TableSpec& spec, bool opened, Status failed) {
    tables_.push_back({.spec = spec,
                       .id = TableId(static_cast<uint32_t>(tables_.size() + 1)),
                       .missing = failed.ok() ? servers : std::set<NodeId>(),
                       .asked_at = now_,
                       .failed = failed,
                       .waiting = {},
                       .opened = opened && failed.ok()});
  };
  const Status given_up = Error(StatusCode::kAborted, "the table was not opened under the coordinator before");
  for (const CoordinatorRecord::Table& table : record.tables) {
    add(table.spec, table.opened, table.failed ? given_up : OkStatus());
  }
  if (options_.mutations.tables_numbered_anew) return;
  std::map<TableId, TableSpec> others;
  for (const auto& [id, former] : formers_) {
    if (!former.answer) continue;
    for (const InstallTable& table : former.answer->tables) others.emplace(table.table, table.spec);
  }
  for (const auto& [id, spec] : others) {
    if (id.value() > kTablesMax) continue;
    while (tables_.size() + 1 < id.value()) add({}, false, given_up);
    if (tables_.size() < id.value()) add(spec, false, OkStatus());
  }
}

// Done > Leased > Free. A lease that its worker does not know has never reached it, or was ended there: the end is
// answered only when the copy knows it, so no worker has processed such items.
void CoordinatorCore::RestoreLeases(const CoordinatorRecord& record, CoordinatorOutputs& out) {
  for (const CoordinatorRecord::DataSet& kept : record.data_sets) {
    CutRecord::DataSet progress = kept.progress;
    if (options_.mutations.mirror_ignored) {
      progress.done.clear();
      progress.finished_epochs = 0;
    }
    std::vector<Lease> leases;
    uint64_t again = 0;
    for (size_t i = 0; i < progress.open.size() && i < kept.holders.size(); ++i) {
      CutRecord::OpenLease& open = progress.open[i];
      const CoordinatorRecord::Holder& holder = kept.holders[i];
      const Node* worker = Find(holder.worker);
      if (worker == nullptr) {
        again += open.end - open.position;
        continue;
      }
      for (const LeasePosition& known : worker->last.leases) {
        if (known.lease != holder.lease) continue;
        open.position = std::clamp(known.position, open.position, open.end);
        leases.push_back({.id = holder.lease,
                          .worker = holder.worker,
                          .epoch = open.epoch,
                          .begin = open.begin,
                          .end = open.end,
                          .position = open.position});
      }
    }
    progress.reprocessed_items = CappedSum(progress.reprocessed_items, std::min(again, kNumberMax));
    if (again > 0) {
      out.events.push_back(std::to_string(again) + " items of \"" + progress.name +
                           "\" go to others: their workers were lost with the coordinator");
    }
    LeaseLedger ledger(progress, true, progress.epochs, progress.lease_items, &next_lease_);
    if (kept.when_due) ledger.BeginUpTo(evaluations_.state().due);
    for (const Lease& lease : leases) {
      if (!options_.mutations.adopted_leases_granted) ledger.Adopt(lease);
    }
    data_sets_.push_back({.id = DataSetId(static_cast<uint32_t>(data_sets_.size() + 1)),
                          .name = progress.name,
                          .asked = {.items = progress.items,
                                    .epochs = progress.epochs,
                                    .lease_items = progress.lease_items,
                                    .when_due = kept.when_due},
                          .follows_goal = kept.follows_goal,
                          .closing = kept.closing,
                          .when_due = kept.when_due,
                          .items_in_newest = kept.items_in_newest,
                          .ledger = std::move(ledger)});
    if (kept.follows_goal && !current_data_set_) current_data_set_ = data_sets_.back().id;
  }
}

}  // namespace attune::ps
