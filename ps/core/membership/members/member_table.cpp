#include "ps/core/membership/members/member_table.h"

#include <algorithm>

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

// --- steps

uint64_t MemberTable::TotalSteps() const {
  uint64_t steps = steps_of_gone_;
  for (const auto& [id, member] : members_) steps = CappedSum(steps, member.last.steps);
  return steps;
}

void MemberTable::AddStepsOfGone(uint64_t steps) { steps_of_gone_ = CappedSum(steps_of_gone_, steps); }

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
  return forgotten != forgotten_.end() && now - forgotten->second >= liveness_lease_;
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
