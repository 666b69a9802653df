#include "ps/core/rows/state/shard_states.h"

namespace attune::ps {
namespace {

// Who may have owned rows and is lost. 0 stands for nodes that this one has never heard of: of several recoveries the
// maps in between are not known.
std::vector<NodeId> OwnersLost(const ShardMap& old, const ShardMap& map) {
  std::vector<NodeId> lost;
  for (const Member& member : old.members) {
    if (member.may_own_rows() && !map.Contains(member.node)) lost.push_back(member.node);
  }
  const bool one_recovery = map.recoveries == static_cast<uint16_t>(old.recoveries + 1);
  if (lost.empty() || !one_recovery) lost.push_back(NodeId());
  return lost;
}

// The one map between these two, which this node has not seen, was a planned change that moved the home from the one
// before to this node, and no other: a change leaves the backup as it is, so a recovery alone makes only a backup the
// home, the next backup, or another server of a shard that is uncovered.
bool IsMovedInTheMapBetween(const ShardMap& old, const ShardMap& map, const Shard& before, const Shard& after,
                            NodeId self) {
  return map.version == old.version.Next().Next() && before.home != NodeId() && before.backup != self &&
         before.next_backup != self && after.uncovered_at <= old.version;
}

}  // namespace

ShardStates::Changes ShardStates::Adopt(const ShardMap& old, const ShardMap& map, NodeId self, bool servers_keep_rows) {
  const bool recovery = map.recovered_at > old.version;
  const bool first = states_.empty();
  if (first) {
    states_.resize(map.shard_count());
    directory_.SetShards(map.shard_count());
  }
  if (recovery) directory_.ForgetComing();
  const std::vector<NodeId> owners_lost = recovery ? OwnersLost(old, map) : std::vector<NodeId>();
  Changes changes;
  any_guard_ = false;
  for (uint32_t i = 0; i < size(); ++i) {
    const Shard before = first ? Shard{} : old.shards[i];
    const Shard& after = map.shards[i];
    AdoptHome(i, self, before, after, recovery, changes);
    if (recovery && after.home == self && before.home != self) {
      states_[i].home_before = IsMovedInTheMapBetween(old, map, before, after, self) ? before.home : NodeId();
      const bool had_all = before.backup == self || (before.next_backup == self && before.next_was_home());
      states_[i].copies_partial = !had_all || after.uncovered_at > old.version;
    }
    // What a home has not heard of owns none of its rows: who has not adopted the maps in between gave it none.
    const bool any_lost = std::ranges::any_of(owners_lost, [&](NodeId lost) {
      return first || (lost == NodeId() ? before.home != self : MayHaveOwned(i, lost, old, servers_keep_rows));
    });
    states_[i].owner_lost = states_[i].owner_lost || (after.home == self && any_lost);
    // Only one change of the home can have come since: the next one would have raised the version further.
    const bool is_next = after.routing_since == old.version.Next();
    if (states_[i].home == Home::kWaitHandoff && before.home != after.home) {
      states_[i].home_before = is_next ? before.home : NodeId();
    }
    const bool had_copies = before.backup == self || before.next_backup == self;
    const bool has_copies = after.backup == self || after.next_backup == self;
    if (had_copies && !has_copies && !(recovery && after.home == self)) changes.dropped.push_back(i);
    if (has_copies && (recovery || !had_copies)) states_[i].absent_era = map.recoveries;
    any_guard_ = any_guard_ || after.backup != NodeId() || after.next_backup != NodeId();
  }
  UpdatePlain();
  return changes;
}

// A backup owns no row of its shard. Of servers only the home before has rows, until they have come home.
bool ShardStates::MayHaveOwned(uint32_t shard, NodeId lost, const ShardMap& old, bool servers_keep_rows) const {
  const Shard& before = old.shards[shard];
  if (lost == before.backup) return false;
  const Member* member = old.Find(lost);
  const NodeId home_before = states_[shard].home_before;
  return servers_keep_rows || member == nullptr || member->role != Role::kServer || lost == before.home ||
         home_before == NodeId() || lost == home_before;
}

void ShardStates::AdoptHome(uint32_t shard, NodeId self, const Shard& before, const Shard& after, bool recovery,
                            Changes& changes) {
  State& state = states_[shard];
  const bool home_here = after.home == self;
  if (home_here) {
    foreign_rows_ -= state.foreign;
    state.foreign = 0;
  }
  if (recovery) {
    if (!home_here) {
      if (before.home == self) changes.given_away.push_back(shard);  // by a change that this node has not seen
      state.home = Home::kNotHome;
      state.directory_complete = false;
      state.was_backup = state.owner_lost = false;
      return;
    }
    if (before.home != self) {
      state.was_backup = state.was_backup || before.backup == self || before.next_backup == self;
      state.directory_complete = false;
    }
    state.home = Home::kCollecting;
    return;
  }
  if (after.home == before.home) return;
  state.owner_lost = false;
  if (before.home == self) {
    changes.given_away.push_back(shard);
    state.home = Home::kNotHome;
    state.directory_complete = false;
  } else if (home_here) {
    state.home = before.home == NodeId() ? Home::kActive : Home::kWaitHandoff;
    state.directory_complete = before.home == NodeId();
  }
}

void ShardStates::Activate(std::span<const uint32_t> shards) {
  for (const uint32_t shard : shards) {
    states_[shard].home = Home::kActive;
    states_[shard].directory_complete = true;
    states_[shard].was_backup = states_[shard].owner_lost = false;
  }
  UpdatePlain();
}

void ShardStates::BeginRestore(std::span<const uint32_t> shards) {
  for (const uint32_t shard : shards) {
    states_[shard].home = Home::kRestoring;
    states_[shard].directory_complete = false;
    states_[shard].owner_lost = true;
  }
}

uint32_t ShardStates::NotReady() const {
  return static_cast<uint32_t>(std::ranges::count_if(
      states_, [](const State& state) { return state.home != Home::kNotHome && state.home != Home::kActive; }));
}

uint64_t ShardStates::ForeignHandovers() const {
  uint64_t rows = 0;
  for (const State& state : states_) rows += state.home == Home::kNotHome ? state.handovers : 0;
  return rows;
}

void ShardStates::UpdatePlain() {
  plain_.resize(states_.size());
  for (uint32_t i = 0; i < size(); ++i) plain_[i] = IsActive(i) && directory_.InShard(i) == 0 ? 1 : 0;
}

ShardStates::Place ShardStates::Find(TableKey row, uint32_t shard, NodeId home, NodeId self, bool present,
                                     bool sent_by_home) const {
  using enum Place::What;
  const bool active = IsActive(shard);
  const RowDirectory::Entry* entry = active ? directory_.Find(row) : nullptr;
  if (present || (active && entry == nullptr)) return {kHere, {}, false};
  if (sent_by_home) return {kWait, {}, false};
  if (home != self) return {kSend, home, false};
  if (!active) return {kQueue, {}, false};
  if (entry->owner == self) return {kWait, {}, false};
  return {kSend, entry->owner, true};
}

void ShardStates::AddForeign(uint32_t shard, uint32_t rows) {
  states_[shard].foreign += rows;
  foreign_rows_ += rows;
}

void ShardStates::AddForeign(const TableStore& store, std::span<const Key> keys, const ShardMap& map, NodeId self) {
  present_.resize((keys.size() + 63) / 64);
  store.Contains(keys, present_);
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint32_t shard = ShardMap::ShardIndex(keys[i], size());
    if (map.shards[shard].home == self || ((present_[i / 64] >> (i % 64)) & 1) != 0) continue;
    AddForeign(shard, 1);
  }
}

void ShardStates::RemoveForeign(uint32_t shard) {
  --states_[shard].foreign;
  --foreign_rows_;
}

void ShardStates::SetEntry(TableKey row, RowDirectory::Entry entry) {
  const uint32_t shard = ShardMap::ShardIndex(row.key, size());
  directory_.Set(row, shard, entry);
  plain_[shard] = 0;
}

void ShardStates::EraseEntry(TableKey row) {
  const uint32_t shard = ShardMap::ShardIndex(row.key, size());
  if (!directory_.Erase(row, shard) || directory_.InShard(shard) > 0) return;
  plain_[shard] = IsActive(shard) ? 1 : 0;
}

}  // namespace attune::ps
