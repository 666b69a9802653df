#include "ps/core/coordinator/placement.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ps/core/membership/placement_batch.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

constexpr Duration kHeardLately = std::chrono::seconds(2);

}  // namespace

Placement::Placement(JobContext& job, Replies& replies, RecoveryLedger& recoveries, const TableService& tables,
                     const Checkpoints& checkpoints, const MemberWatch& watch)
    : job_(job),
      replies_(replies),
      recoveries_(recoveries),
      tables_(tables),
      checkpoints_(checkpoints),
      watch_(watch),
      balance_(job.options().rebalance) {
  orders_.Want(job.options().servers);
}

// --- the map

void Placement::FormWhenComplete(CoordinatorOutputs& out) {
  if (job_.map().formed()) return;
  const CoordinatorOptions& options = job_.options();
  std::vector<Member> servers;
  for (const auto& [id, node] : job_.members()) {
    if (node.member.role == Role::kServer) servers.push_back(node.member);
  }
  if (servers.size() < options.servers) return;
  std::ranges::sort(servers, {}, &Member::index);  // the same shards on the same index, no matter who joined first
  std::vector<NodeId> ids;
  ids.reserve(servers.size());
  for (const Member& server : servers) ids.push_back(server.node);
  ShardMap map = job_.map();
  map.version = MapVersion(options.term, 0);
  map.shards = EvenShards(options.shards, ids, options.backups > 0, map.version);
  job_.SetMap(PlacedAtOnce(std::move(map), GoalFor(std::move(ids))));
  out.events.push_back((servers.size() == 1 ? std::string("the server has")
                                            : "all " + std::to_string(servers.size()) + " servers have") +
                       " joined; the job serves");
}

void Placement::PublishMembers(CoordinatorOutputs& out) {
  if (!job_.map().formed()) return;
  ShardMap next = job_.map();
  next.version = next.version.Next();
  Publish(std::move(next), out);
}

void Placement::Publish(ShardMap map, CoordinatorOutputs& out) {
  map.marked = std::max(map.marked, checkpoints_.marked());
  map.members = job_.members().Members();
  job_.leadership().AssignVotes(map, job_.now());
  job_.SetMap(std::move(map));
  orders_.NotePublished();
  job_.SendToAll(MapUpdate{.map = job_.map()}, out);
}

void Placement::PublishRecordsFrom(uint64_t number, CoordinatorOutputs& out) {
  ShardMap next = job_.map();
  next.records_from = number;
  job_.SetMap(std::move(next));
  PublishMembers(out);
}

// --- servers

// A server that joins is wanted, ordered or not. Only while an order says how many there are to be, one above that
// number is drained like those that were here when it came: it was started before the order and is late.
void Placement::WantServer(MemberState& server) {
  if (!job_.map().formed()) return;
  const uint32_t wanted = orders_.servers_wanted();
  if (orders_.HasCount() && server.member.index >= wanted && job_.members().AnyServerBelow(wanted)) {
    server.member.leaving = true;
  } else {
    orders_.Want(std::max(wanted, server.member.index + 1));
  }
}

void Placement::OnMessage(const MemberState& node, const MapRequest& message, CoordinatorOutputs& out) const {
  if (message.have < job_.map().version) JobContext::Send(node, MapUpdate{.map = job_.map()}, out);
}

void Placement::OnMessage(MemberState& node, const RowsReport& message, CoordinatorOutputs&) {
  job_.leadership().Knows(node.member.node, message.map_version);
  const auto grown = reports_.Add(node, message);
  if (!grown) return;
  recoveries_.Add(grown->shards_restored, grown->rows_restored, grown->reinitialized);
  orders_.NoteChange();
}

void Placement::OnCommand(CommandId id, const DrainServer& command, MonotonicTime deadline, CoordinatorOutputs& out) {
  const auto refuse = [&](const std::string& text) {
    const std::string what = "draining server " + std::to_string(command.index) + ": " + text;
    JobContext::Answer(id, Error(StatusCode::kFailedPrecondition, what), {}, out);
  };
  if (!job_.map().formed()) return refuse("the job does not serve yet");
  if (command.index == job_.options().host_index) {
    return refuse("the job's coordinator runs there; drain another one");
  }
  MemberState* server = nullptr;
  bool others = false;
  for (auto& [node_id, node] : job_.members()) {
    if (node.member.role != Role::kServer || node.lost) continue;
    if (node.member.index == command.index) {
      server = &node;
    } else {
      others = others || !node.member.leaving;
    }
  }
  if (server == nullptr) return JobContext::Answer(id, OkStatus(), "there is no such server", out);
  if (!others) return refuse("it is the last one; start another one first");
  if (orders_.IsFull()) return refuse("too many orders wait");
  orders_.AddDrain(id, server->member.node, deadline);
  if (std::exchange(server->member.leaving, true)) return;
  out.events.push_back(job_.members().Name(server->member.node) + " is being drained");
  PublishMembers(out);
}

void Placement::OnCommand(CommandId id, const SetServers& command, MonotonicTime deadline, CoordinatorOutputs& out) {
  const auto refuse = [&](StatusCode code, const std::string& text) {
    JobContext::Answer(id, Error(code, text), {}, out);
  };
  const std::optional<uint32_t> host = job_.options().host_index;
  if (command.servers == 0 || command.servers > kServersMax || !job_.map().formed()) {
    return refuse(StatusCode::kInvalidArgument,
                  "servers: 1 to " + std::to_string(kServersMax) + " are allowed, once the job serves");
  }
  if (host && command.servers <= *host) {
    return refuse(StatusCode::kFailedPrecondition,
                  "server " + std::to_string(*host) + " would go, and the job's coordinator runs there");
  }
  if (orders_.IsFull()) return refuse(StatusCode::kResourceExhausted, "too many orders wait; wait for some");
  orders_.Want(command.servers);
  replies_.NoteChange();
  const bool any_stays = job_.members().AnyServerBelow(command.servers);
  for (auto& [node_id, node] : job_.members()) {
    if (node.member.role != Role::kServer) continue;
    node.member.leaving = node.member.index >= command.servers && any_stays;
  }
  orders_.AddCount(id, deadline);
  PublishMembers(out);
}

void Placement::OnCommand(CommandId id, const SetBackups& command, MonotonicTime, CoordinatorOutputs& out) {
  if (command.backups > 1) {
    return JobContext::Answer(id, Error(StatusCode::kInvalidArgument, "backups: 0 or 1 are allowed"), {}, out);
  }
  job_.SetBackups(command.backups);
  replies_.NoteChange();
  orders_.NoteChange();
  JobContext::Answer(id, OkStatus(), "backups: " + std::to_string(command.backups), out);
}

void Placement::AnswerOrders(CoordinatorOutputs& out) {
  PlacementOrders::Servers servers;
  const MemberTable& members = std::as_const(job_).members();
  for (const auto& [id, node] : members) {
    if (node.member.role != Role::kServer) continue;
    if (!watch_.links().HasAllLinks(id)) {
      servers.apart += "; " + members.Name(id) + " has no connection to some members yet";
    }
    servers.any_leaves = servers.any_leaves || node.member.leaving;
    servers.staying += node.member.leaving ? 0 : 1;
  }
  const auto is_here = [&](NodeId id) { return members.contains(id); };
  for (CommandResult& result : orders_.TakeAnswered(job_.now(), job_.Leads(), servers, is_here)) {
    out.command_results.push_back(std::move(result));
  }
}

// --- changes

PlacementGoal Placement::GoalFor(std::vector<NodeId> servers) const {
  PlacementGoal goal = GoalOf(std::move(servers), job_.options().backups, job_.members());
  if (job_.mutations().copies_on_any_machine) goal.machines.clear();
  balance_.AddWeights(job_.map().shards.size(), goal);
  return goal;
}

// Servers of a finished job end in the middle of whatever would begin now.
bool Placement::MayChange() const {
  return !job_.phase().finished() && job_.map().formed() && !job_.phase().failed() && !job_.last_server().is_lost() &&
         AllReady(job_.members(), job_.map());
}

std::vector<NodeId> Placement::Continue(CoordinatorOutputs& out) {
  if (!orders_.TakeChange() || !MayChange()) return {};
  // Rows that move while others are copied would be missed or copied twice.
  if (tables_.IsLoading() || checkpoints_.Marking()) {
    orders_.NoteChange();
    return {};
  }
  const ShardMap& map = job_.map();
  const MemberTable& members = std::as_const(job_).members();
  if (recoveries_.End()) {
    out.events.push_back("recovery " + std::to_string(map.recoveries) + " is complete; " + recoveries_.DescribeEnd());
  }
  if (auto next = WithCompletedBackups(map, members)) {
    Publish(*std::move(next), out);
    return {};
  }
  if (IsChanging(map, members)) return {};
  const std::vector<NodeId> servers = EligibleServers(
      map, members, [&](NodeId id) { return tables_.HasAll(id) && IsReachedByAll(id, map, members, watch_.links()); });
  if (ChangeNext(servers, out)) return {};
  std::vector<NodeId> leavers = Leavers();
  if (leavers.empty()) Settle(servers, out);
  return leavers;
}

bool Placement::ChangeNext(const std::vector<NodeId>& servers, CoordinatorOutputs& out) {
  const ShardMap& map = job_.map();
  std::vector<PlacementChange> changes;
  if (!servers.empty()) changes = PlanPlacement(map, GoalFor(servers));
  orders_.NoteToChange(changes.size());
  if (changes.empty()) return false;
  if (orders_.BeginMoving()) {
    out.events.push_back(std::to_string(changes.size()) + " shards change their place, " +
                         std::to_string(servers.size()) + " servers share them");
  }
  const CoordinatorOptions& options = job_.options();
  const size_t batch = BatchSize(map, job_.members(), options.shard_changes_max, options.row_changes_max);
  changes.resize(std::min(changes.size(), batch));
  Publish(WithChanges(map, changes, map.version.Next()), out);
  return true;
}

// Not the server this one runs in, which may have been drained when the coordinator came to it: another one has to
// follow before that server goes.
std::vector<NodeId> Placement::Leavers() const {
  std::vector<NodeId> leavers;
  for (const auto& [id, node] : job_.members()) {
    if (!node.member.leaving || job_.leadership().IsHost(node.member)) continue;
    if (!HoldsNothing(node, job_.map())) continue;
    if (!checkpoints_.HasOpenPart(id) && !Leadership::MayVote(id, job_.map())) leavers.push_back(id);
  }
  return leavers;
}

void Placement::Settle(const std::vector<NodeId>& servers, CoordinatorOutputs& out) {
  // A server without the tables is not used yet.
  const bool in_use = std::ranges::all_of(job_.members(), [&](const auto& entry) {
    const MemberState& node = entry.second;
    return node.member.role != Role::kServer || node.member.leaving ||
           std::ranges::find(servers, entry.first) != servers.end();
  });
  if (orders_.Settle(in_use)) out.events.push_back("all shards have their place");
  if (in_use) {
    std::string relieved = balance_.NoteSettled(job_.map(), job_.members(), job_.now());
    if (!relieved.empty()) out.events.push_back(std::move(relieved));
  }
  AnswerOrders(out);
}

// --- servers that are asked for more than others

// While all is at rest. A server that was not heard a moment ago cannot have said what it is asked for.
bool Placement::MayRelieve() const {
  if (!orders_.settled() || !job_.Leads() || !MayChange()) return false;
  if (tables_.IsLoading()) return false;
  const MemberTable& members = std::as_const(job_).members();
  if (IsChanging(job_.map(), members)) return false;
  return std::ranges::all_of(members, [&](const auto& entry) {
    const MemberState& node = entry.second;
    return !node.is_server() || (!node.member.leaving && !node.lost && job_.now() - node.silent_since <= kHeardLately);
  });
}

void Placement::RelieveHotServer(CoordinatorOutputs& out) {
  if (!balance_.MayLook()) return;
  if (checkpoints_.Marking() || checkpoints_.PreparesCopies()) return;  // soon over
  if (!MayRelieve()) return balance_.Interrupt();
  const MemberTable& members = std::as_const(job_).members();
  std::vector<NodeId> servers;  // all of them have shards
  for (const auto& [id, node] : members) {
    if (node.is_server()) servers.push_back(id);
  }
  const PlacementGoal goal = GoalFor(std::move(servers));
  LoadBalance::Looked looked = balance_.Look(job_.map(), goal, members, job_.now());
  if (!looked.event.empty()) out.events.push_back(std::move(looked.event));
  if (!looked.begins) return;
  replies_.NoteChange();
  orders_.NoteChange();
}

// --- records

void Placement::Restore(const CoordinatorRecord& record) {
  orders_.Want(record.servers_wanted);
  balance_.Restore(record.shard_weights);
}

void Placement::Fill(CoordinatorRecord& record) const {
  record.servers_wanted = orders_.servers_wanted();
  record.shard_weights = balance_.weights();
}

void Placement::Fill(JobProgress& progress) const {
  progress.relief = balance_.last();
  progress.shards_to_change = orders_.shards_to_change();
  progress.servers_wanted = orders_.servers_wanted();
  const RowTotals rows = RowsOfAll(job_.members());
  progress.rows_to_come = rows.to_come;
  progress.copies_to_send = rows.copies_to_send;
  progress.rows_moved = reports_.rows_moved();
}

}  // namespace attune::ps
