#include "ps/core/membership/takeover.h"

#include <algorithm>
#include <utility>

#include "base/pause_watch.h"
#include "ps/core/protocol/incarnation.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

constexpr size_t kPreviousMax = 2 * kMembersMax;  // members, and those of them that came back as other nodes

void Append(std::string& list, const std::string& name) { list += (list.empty() ? "" : ", ") + name; }

}  // namespace

bool WasRemovedBefore(const CoordinatorRecord& record, NodeId node) {
  return std::ranges::find(record.nodes, node, &CoordinatorRecord::Node::node) == record.nodes.end() &&
         node.value() + static_cast<uint32_t>(kMembersMax) < record.next_node.value();
}

void Takeover::NoteGone(Role role, uint32_t index, uint32_t pod, MonotonicTime now) {
  gone_.try_emplace({role, index, pod}, now);
}

void Takeover::NoteClosed(ConnectionId connection) {
  for (auto& [id, member] : members_) {
    if (member.connection == connection) member.connection.reset();
  }
  for (auto& [id, joining] : joining_) {
    if (joining.connection == connection) joining.connection.reset();
  }
}

std::optional<Takeover::Question> Takeover::OnJoin(ConnectionId from, const Join& join) {
  if (join.node == NodeId()) {
    if (joining_.size() >= kMembersMax) return std::nullopt;
    joining_[{join.role, join.index, join.incarnation}] = {.join = join, .connection = from, .answer = {}};
    return std::nullopt;
  }
  if (members_.size() >= kPreviousMax && !members_.contains(join.node)) return std::nullopt;
  PreviousMember& member = members_[join.node];
  member.join = join;
  member.connection = from;
  return Question{.to = from, .node = join.node, .role = join.role};
}

// Every node is a member of the map that it has.
std::vector<NodeId> Takeover::OnPromised(ConnectionId from, const Promised& message, MonotonicTime now) {
  std::vector<NodeId> answered;
  for (auto& [id, member] : members_) {
    if (member.connection != from) continue;
    const Member* self = message.map.Find(id);
    if (message.map.formed() && (self == nullptr || self->role != member.join.role)) continue;
    std::optional<CoordinatorRecord> copy = member.answer ? std::move(member.answer->mirror) : std::nullopt;
    member.answer = message;
    // It drops an old copy with the map that it is passed on. No caller has been answered then with what that one does
    // not know.
    if (!member.answer->mirror) member.answer->mirror = std::move(copy);
    member.support_ends = now + message.support_left;
    answered.push_back(id);
  }
  return answered;
}

std::vector<Takeover::Question> Takeover::ToAskAgain() const {
  std::vector<Question> questions;
  for (const auto& [id, member] : members_) {
    if (!member.connection || (member.answer && member.join.role == Role::kWorker)) continue;
    questions.push_back({.to = *member.connection, .node = id, .role = member.join.role});
  }
  return questions;
}

std::optional<Takeover::Newest> Takeover::FindNewest() const {
  const ShardMap* map = NewestMap();
  if (map == nullptr || !map->formed() || !HostHasAnswered()) return std::nullopt;
  return Newest{.map = *map, .record = NewestRecord(*map)};
}

bool Takeover::HostHasAnswered() const {
  return !options_.host_index || std::ranges::any_of(members_, [&](const auto& entry) {
    const PreviousMember& member = entry.second;
    return member.answer && member.join.role == Role::kServer && member.join.index == *options_.host_index;
  });
}

const ShardMap* Takeover::NewestMap() const {
  const ShardMap* newest = nullptr;
  for (const auto& [id, member] : members_) {
    if (!member.answer) continue;
    if (newest == nullptr || member.answer->map.version > newest->version) newest = &member.answer->map;
  }
  return newest;
}

// A copy at a server that the map has not any more is an old one: its coordinator has gone on without it.
const CoordinatorRecord* Takeover::NewestRecord(const ShardMap& map) const {
  const CoordinatorRecord* newest = nullptr;
  for (const auto& [id, member] : members_) {
    if (!member.answer || !member.answer->mirror || !map.Contains(id)) continue;
    const CoordinatorRecord& record = *member.answer->mirror;
    if (newest == nullptr || record.number > newest->number) newest = &record;
  }
  return newest;
}

std::vector<Takeover::Question> Takeover::Recognize(const ShardMap& map) {
  std::vector<Question> questions;
  for (const Member& member : map.members) {
    const auto joining = joining_.find({member.role, member.index, member.incarnation});
    if (joining == joining_.end() || !joining->second.connection) continue;
    PreviousMember& previous = members_[member.node];
    previous.join = joining->second.join;
    previous.connection = std::exchange(joining->second.connection, std::nullopt);
    questions.push_back({.to = *previous.connection, .node = member.node, .role = member.role});
  }
  return questions;
}

// The last map may have reached no member but the server that joined with it. Not the map of a recovery, before which a
// server has to hear of the newest checkpoint.
std::vector<ConnectionId> Takeover::PassOn(const ShardMap& map) {
  std::vector<ConnectionId> to;
  for (auto& [id, member] : members_) {
    if (!member.connection || !member.answer || member.join.role != Role::kServer) continue;
    ShardMap& known = member.answer->map;
    if (known.version >= map.version || known.version < map.recovered_at || !map.Contains(id)) continue;
    to.push_back(*member.connection);
    known = map;  // or it joins again, and answers again
  }
  return to;
}

std::optional<ConnectionId> Takeover::LostHost(const ShardMap& map) const {
  for (const auto& [id, member] : members_) {
    const Join& join = member.join;
    const bool host = join.role == Role::kServer && join.index == options_.host_index;
    if (host && member.connection && member.answer && !map.Contains(id)) return member.connection;
  }
  return std::nullopt;
}

// By the platform's word, or because another process has come with its role and index.
bool Takeover::ProvenGone(const Member& member) const {
  if (AnswerOf(member.node) != nullptr) return false;
  for (const uint32_t pod : {PodOf(member.incarnation), 0U}) {
    if (gone_.contains({member.role, member.index, pod})) return true;
  }
  for (auto it = joining_.lower_bound({member.role, member.index, 0}); it != joining_.end(); ++it) {
    const auto& [role, index, incarnation] = it->first;
    if (role != member.role || index != member.index) return false;
    if (incarnation != member.incarnation) return true;
  }
  return false;
}

// The platform has named its very process: nothing of it can be in flight, and it supports no coordinator any more.
bool Takeover::IsProven(const Member& member) const {
  const uint32_t pod = PodOf(member.incarnation);
  return pod != 0 && AnswerOf(member.node) == nullptr && gone_.contains({member.role, member.index, pod});
}

void Takeover::Configure(const ShardMap& map, LeaderLease& lease) {
  if (map_version_ < map.version) {
    map_version_ = map.version;
    lease.Adopt(VotersOf(map));
    if (options_.confirmed) lease.Confirm(*options_.confirmed);
  }
  for (const std::vector<Member>* servers : {&map.members, &map.former_voters}) {
    for (const Member& member : *servers) {
      if (member.role == Role::kServer && IsProven(member)) lease.Exclude(member.node);
    }
  }
}

// The coordinator of that term, whose server the copy of its state names, acts no more.
bool Takeover::HasEnded(uint32_t term, const Newest& newest) const {
  if (newest.record == nullptr || newest.record->number >> 32 != term) return false;
  const NodeId node = newest.record->host;
  const Member* host = newest.map.Find(node);
  return AnswerOf(node) != nullptr || (host != nullptr && IsProven(*host));
}

bool Takeover::OldLeaseEnded(const Newest& newest, const std::vector<Voters>& configurations, MonotonicTime now) const {
  if (options_.mutations.silence_is_death) return true;
  const CoordinatorRecord* record = newest.record;
  const bool last_has_ended = record != nullptr && record->number >> 32 >= newest.map.version.term() &&
                              HasEnded(static_cast<uint32_t>(record->number >> 32), newest);
  return std::ranges::all_of(
      configurations, [&](const Voters& voters) { return OldLeaseEndedFor(voters, last_has_ended, newest, now); });
}

bool Takeover::OldLeaseEndedFor(const Voters& configuration, bool last_has_ended, const Newest& newest,
                                MonotonicTime now) const {
  uint64_t voters = 0, free = 0;  // votes
  for (size_t i = 0; i < configuration.nodes.size(); ++i) {
    const NodeId node = configuration.nodes[i];
    const uint64_t votes = configuration.VotesAt(i);
    const auto previous = members_.find(node);
    if (previous != members_.end() && previous->second.answer) {
      const Promised& answer = *previous->second.answer;
      voters += votes;
      if (now >= previous->second.support_ends || HasEnded(answer.supported_term, newest)) free += votes;
      continue;
    }
    // One that is gone has no say, once its last answers count no more.
    const Member* member = newest.map.FindVoter(node);
    const auto gone =
        member == nullptr ? gone_.end() : gone_.find({member->role, member->index, PodOf(member->incarnation)});
    const bool counts_no_more =
        gone != gone_.end() && IsProven(*member) && (last_has_ended || now - gone->second >= options_.leader_lease);
    if (!counts_no_more) voters += votes;
  }
  return 2 * free >= voters;
}

void Takeover::NoteLeads(bool leads, MonotonicTime now) {
  if (!leads) {
    alone_since_ = kNever;
  } else if (alone_since_ == kNever) {
    alone_since_ = now;
  }
}

// Every shard has a member that has answered and keeps its rows, as home or as copy.
bool Takeover::IsCovered(const ShardMap& map) const {
  return std::ranges::all_of(map.shards, [&](const Shard& shard) {
    return AnswerOf(shard.home) != nullptr || AnswerOf(shard.backup) != nullptr;
  });
}

// The old coordinator's own server. It lives when it has been here: its connection has broken. Until it has had the
// time to hear of this one and to come, it is not known whether the change is an orderly one.
bool Takeover::MayStillCome(NodeId host, MonotonicTime now) const {
  return members_.contains(host) || now - began_ < options_.leader_lease / 3;
}

// Once the old lease has ended, so have all leases that it has given: silent members get a lease's time to answer, the
// old coordinator's server less, if nothing has been heard of it, and more where rows depend on it.
std::string Takeover::Missing(const Newest& newest, MonotonicTime now) const {
  const auto& [map, record] = newest;
  const bool covered = IsCovered(map);
  const Duration timeout = covered ? options_.liveness_lease : options_.uncovered_timeout;
  const bool silent_are_dead = leads() && now - alone_since_ >= timeout;
  std::string missing;
  for (const Member& member : map.members) {
    if (AnswerOf(member.node) != nullptr || ProvenGone(member) || silent_are_dead) continue;
    if (record != nullptr && WasRemovedBefore(*record, member.node)) continue;  // no process there to answer
    const bool was_host = record != nullptr && member.node == record->host;
    if (leads() && covered && was_host && !MayStillCome(member.node, now)) continue;
    if (options_.mutations.act_before_all_promises && record != nullptr) continue;
    Append(missing, Describe(map, member.node));
  }
  // Who is not in that map may know a later one.
  for (const auto& [id, previous] : members_) {
    if (previous.answer || !previous.connection || map.Contains(id) || silent_are_dead) continue;
    Append(missing, "node " + std::to_string(id.value()));
  }
  if (missing.empty() && record == nullptr) {  // the copy may be where no answer has come from
    for (const Member& member : map.members) {
      if (member.role != Role::kServer || AnswerOf(member.node) != nullptr || ProvenGone(member)) continue;
      Append(missing, Describe(map, member.node));
    }
  }
  if (missing.empty() && !leads()) missing = "a majority of the servers, or the operator's confirmation";
  return missing;
}

// Not at once: mostly the answers are only on their way.
bool Takeover::MayReport(MonotonicTime now) {
  if (reported_at_ != kNever && now - reported_at_ < options_.report_after) return false;
  return std::exchange(reported_at_, now) != kNever;
}

const Promised* Takeover::AnswerOf(NodeId node) const {
  const auto previous = members_.find(node);
  return previous == members_.end() || !previous->second.answer ? nullptr : &*previous->second.answer;
}

bool Takeover::AnyServerAnswered(const ShardMap& map) const {
  return std::ranges::any_of(map.members, [&](const Member& member) {
    return member.role == Role::kServer && AnswerOf(member.node) != nullptr;
  });
}

PreviousMembers Takeover::End() {
  joining_.clear();
  return std::exchange(members_, {});
}

void Takeover::SkipPause(Duration pause) {
  began_ = MovedBy(pause, began_);
  alone_since_ = MovedBy(pause, alone_since_);
}

}  // namespace attune::ps
