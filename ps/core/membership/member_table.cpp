#include "ps/core/membership/member_table.h"

#include <algorithm>

#include "base/pause_watch.h"
#include "ps/core/protocol/incarnation.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

// --- members

MemberState* MemberTable::Find(NodeId node) {
  const auto it = members_.find(node);
  return it == members_.end() ? nullptr : &it->second;
}

const MemberState* MemberTable::Find(NodeId node) const {
  const auto it = members_.find(node);
  return it == members_.end() ? nullptr : &it->second;
}

MemberState* MemberTable::FindProcess(uint64_t incarnation) {
  const auto it =
      std::ranges::find_if(members_, [&](const auto& entry) { return entry.second.member.incarnation == incarnation; });
  return it == members_.end() ? nullptr : &it->second;
}

std::string MemberTable::Name(NodeId node) const {
  const MemberState* member = Find(node);
  if (member == nullptr) return "node " + std::to_string(node.value());
  return (member->is_server() ? "server " : "worker ") + std::to_string(member->member.index) + " (node " +
         std::to_string(node.value()) + ")";
}

std::vector<Member> MemberTable::Members() const {
  std::vector<Member> members;
  for (const auto& [id, member] : members_) members.push_back(member.member);
  return members;
}

std::set<NodeId> MemberTable::Servers() const {
  std::set<NodeId> servers;
  for (const auto& [id, member] : members_) {
    if (member.is_server()) servers.insert(id);
  }
  return servers;
}

bool MemberTable::AnyServerBelow(uint32_t index) const {
  return std::ranges::any_of(members_, [&](const auto& entry) {
    const MemberState& member = entry.second;
    return member.is_server() && member.member.index < index && !member.lost;
  });
}

bool MemberTable::AnyWorker() const {
  return std::ranges::any_of(members_, [](const auto& entry) { return entry.second.member.role == Role::kWorker; });
}

MemberState& MemberTable::Admit(const Join& join, ConnectionId from) {
  const NodeId id = std::exchange(next_, next_.Next());
  MemberState& member = members_[id];
  member.member = {.node = id,
                   .role = join.role,
                   .index = join.index,
                   .address = join.address,
                   .takes_rows = join.takes_rows,
                   .incarnation = join.incarnation,
                   .machine = join.machine};
  member.connection = from;
  connections_[from] = id;
  return member;
}

MemberState& MemberTable::Restore(const Member& member, std::optional<ConnectionId> connection) {
  MemberState& state = members_[member.node];
  state.member = member;
  state.connection = connection;
  if (connection) connections_[*connection] = member.node;
  return state;
}

void MemberTable::Remove(NodeId node, Status why, MonotonicTime now) {
  const auto it = members_.find(node);
  gone_.Add(node, it->second.member.incarnation, std::move(why), now);
  members_.erase(it);
}

// --- connections

void MemberTable::Attach(MemberState& member, ConnectionId connection) {
  if (member.connection && *member.connection != connection) connections_.erase(*member.connection);
  member.connection = connection;
  connections_[connection] = member.member.node;
}

std::optional<NodeId> MemberTable::NodeAt(ConnectionId connection) const {
  const auto it = connections_.find(connection);
  return it == connections_.end() ? std::nullopt : std::optional(it->second);
}

void MemberTable::Close(ConnectionId connection) {
  const auto known = connections_.find(connection);
  if (known == connections_.end()) return;
  if (MemberState* member = Find(known->second); member != nullptr && member->connection == connection) {
    member->connection.reset();
  }
  connections_.erase(known);
}

// --- silence

Duration MemberTable::NoteHeard(MemberState& member, bool is_host, MonotonicTime now) {
  Duration forgiven = Duration::zero();
  if (!is_host) {
    forgiven = PausedFor(others_heard_, now, options_.pause_tolerance);
    others_heard_ = now;
  }
  if (forgiven > Duration::zero()) Forgive(forgiven, now);
  member.silent_since = now;
  member.said_gone.reset();  // that was another process
  return forgiven;
}

void MemberTable::Forgive(Duration time, MonotonicTime now) {
  for (auto& [id, member] : members_) {
    member.silent_since = std::min(now, MovedBy(time, member.silent_since));
    if (member.said_gone && !member.proven_gone) member.said_gone = std::min(now, MovedBy(time, *member.said_gone));
  }
}

void MemberTable::SkipPause(Duration pause, MonotonicTime now) {
  Forgive(pause, now);
  others_heard_ = MovedBy(pause, others_heard_);
  last_server_lost_ = MovedBy(pause, last_server_lost_);
}

bool MemberTable::NoteSaidGone(Role role, uint32_t index, uint32_t pod, MonotonicTime now) {
  for (auto& [id, member] : members_) {
    if (member.member.role != role || member.member.index != index || member.lost) continue;
    const uint32_t known = PodOf(member.member.incarnation);
    const bool is_known = pod != 0 && known != 0;
    if (is_known && pod != known) continue;  // replaced since
    if (!member.said_gone) member.said_gone = now;
    member.proven_gone = is_known;
    return true;
  }
  return false;
}

std::vector<NodeId> MemberTable::SaidGone(MonotonicTime now) const {
  constexpr Duration kNoticeCheck = std::chrono::seconds(2);
  std::vector<NodeId> gone;
  for (const auto& [id, member] : members_) {
    if (member.lost || !member.said_gone) continue;
    const bool silent = member.proven_gone && !member.connection;
    if (silent || now - *member.said_gone >= kNoticeCheck) gone.push_back(id);
  }
  return gone;
}

// While no member is heard it may be this machine that is cut off: its lease ends soon then, and who is its only
// partner is given more time.
MemberTable::Silent MemberTable::FindSilent(const ShardMap& map, MonotonicTime now) const {
  const bool unheard = others_heard_ != kNever && now - others_heard_ > options_.pause_tolerance;
  Silent silent;
  for (const auto& [id, member] : members_) {
    if (member.lost || now - member.silent_since < options_.liveness_lease) continue;
    silent.all.insert(id);
    const bool has_time = now - member.silent_since < options_.uncovered_timeout;
    if (!has_time || (!unheard && !WouldCostRows(member, map, now))) silent.lost.insert(id);
  }
  return silent;
}

bool MemberTable::WouldCostRows(const MemberState& lost, const ShardMap& map, MonotonicTime now) const {
  const NodeId id = lost.member.node;
  return std::ranges::any_of(map.shards, [&](const Shard& shard) {
    if (lost.is_server() && shard.home != id) return false;
    if (!lost.member.may_own_rows()) return false;
    const MemberState* backup = Find(shard.backup);
    return backup == nullptr || now - backup->silent_since >= options_.liveness_lease;
  });
}

// --- the last server

void MemberTable::NoteLastServerLost(MemberState& server, MonotonicTime now) {
  server.lost = true;
  last_server_lost_ = now;
}

bool MemberTable::NoteBack(MemberState& server) {
  if (!std::exchange(server.lost, false)) return false;
  last_server_lost_ = kNever;
  return true;
}

std::vector<NodeId> MemberTable::TakeLostServers() {
  std::vector<NodeId> lost;
  for (const auto& [id, member] : members_) {
    if (member.lost) lost.push_back(id);
  }
  last_server_lost_ = kNever;
  return lost;
}

// --- steps and rows

uint64_t MemberTable::TotalSteps() const {
  uint64_t steps = steps_of_gone_;
  for (const auto& [id, member] : members_) steps = CappedSum(steps, member.last.steps);
  return steps;
}

void MemberTable::AddStepsOfGone(uint64_t steps) { steps_of_gone_ = CappedSum(steps_of_gone_, steps); }

std::optional<MemberTable::RowsGrown> MemberTable::OnRows(MemberState& member, const RowsReport& report) {
  if (member.rows && report.number <= member.rows->number) return std::nullopt;
  const RowsReport before = member.rows.value_or(RowsReport());
  const auto grown = [&](uint64_t RowsReport::*total) {
    return report.*total - std::min(before.*total, report.*total);
  };
  // Not what a member received before it first spoke to this coordinator, nor less again when a member is gone.
  if (member.rows) rows_moved_ += grown(&RowsReport::rows_received);
  member.rows = report;
  return RowsGrown{.shards_restored = grown(&RowsReport::shards_restored),
                   .rows_restored = grown(&RowsReport::rows_restored),
                   .reinitialized = grown(&RowsReport::rows_begun_anew)};
}

MemberTable::Rows MemberTable::RowsOfAll() const {
  Rows rows;
  for (const auto& [id, member] : members_) {
    if (!member.rows) continue;
    rows.held += member.rows->rows_held;
    rows.to_come += member.rows->rows_to_come;
    rows.copies_to_send += member.rows->copies_to_send;
  }
  return rows;
}

bool MemberTable::AllReady(const ShardMap& map) const {
  return std::ranges::all_of(members_, [&](const auto& entry) {
    const MemberState& member = entry.second;
    if (!member.reports()) return true;
    return member.rows && member.rows->map_version >= map.version && member.rows->shards_not_ready == 0;
  });
}

bool MemberTable::IsEmpty(const MemberState& member, const ShardMap& map) {
  const NodeId id = member.member.node;
  const bool named = std::ranges::any_of(map.shards, [&](const Shard& shard) {
    return shard.home == id || shard.backup == id || shard.next_backup == id;
  });
  return !named && (!member.rows || (member.rows->map_version >= map.version && member.rows->rows_held == 0 &&
                                     member.rows->handovers_open == 0 && member.rows->operations_waiting == 0));
}

// --- those that are gone

void MemberTable::NoteGone(NodeId node, uint64_t incarnation, Status why, MonotonicTime now) {
  gone_.Add(node, incarnation, std::move(why), now);
}

void MemberTable::ForgetFormer(ConnectionId from, const Join& join, MonotonicTime now) {
  gone_.Add(join.node, join.incarnation, OkStatus(), now);
  if (forgotten_.size() >= kMembersMax) forgotten_.erase(forgotten_.begin());
  forgotten_.insert_or_assign(join.node, now);  // on a new connection it asks again first
  connections_[from] = join.node;
}

bool MemberTable::WaitsInVain(NodeId node, MonotonicTime now) const {
  const auto forgotten = forgotten_.find(node);
  return forgotten != forgotten_.end() && now - forgotten->second >= options_.liveness_lease;
}

std::vector<ConnectionId> MemberTable::Expire(MonotonicTime now) {
  gone_.Expire(now);
  std::vector<ConnectionId> closed;
  std::erase_if(connections_, [&](const auto& entry) {
    const auto& [connection, node] = entry;
    if (contains(node) || gone_.Find(node) != nullptr) return false;
    closed.push_back(connection);
    return true;
  });
  return closed;
}

}  // namespace attune::ps
