#include "ps/core/placement_planner.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/check.h"

namespace attune::ps {
namespace {

// Plans on a copy of the map: what is planned counts as done.
class Planner {
 public:
  Planner(const ShardMap& map, const PlacementGoal& goal) : shards_(map.shards), goal_(goal) {
    ATTUNE_CHECK(!goal.servers.empty());
    changed_.resize(shards_.size());
    for (const NodeId server : goal.servers) homes_[server] = copies_[server] = 0;
    for (size_t i = 0; i < shards_.size(); ++i) {
      changed_[i] = shards_[i].next_backup != NodeId();
      total_ += Weight(i);
      heaviest_ = std::max(heaviest_, Weight(i));
      if (Wanted(shards_[i].home)) homes_[shards_[i].home] += Weight(i);
      const NodeId copy = changed_[i] ? shards_[i].next_backup : shards_[i].backup;
      if (Wanted(copy)) copies_[copy] += Weight(i);
    }
  }

  std::vector<PlacementChange> Plan() {
    DropCopies();
    EmptyUnwanted();
    Balance();
    AddCopies();
    return std::move(changes_);
  }

 private:
  bool Wanted(NodeId server) const { return homes_.contains(server); }
  double Weight(size_t shard) const { return goal_.weights.empty() ? 1 : goal_.weights[shard]; }
  uint32_t CopiesWanted() const { return goal_.servers.size() > 1 ? goal_.backups : 0; }
  bool Full() const { return changes_.size() >= goal_.changes_max; }

  void Note(PlacementChange::Kind kind, size_t shard, NodeId to) {
    changed_[shard] = true;
    changes_.push_back({.kind = kind, .shard = ShardId(static_cast<uint32_t>(shard)), .to = to});
  }

  // The least loaded wanted server other than these.
  std::optional<NodeId> Lightest(const std::map<NodeId, double>& load, NodeId not_this, NodeId nor_this) const {
    std::optional<NodeId> best;
    for (const NodeId server : goal_.servers) {
      if (server == not_this || server == nor_this) continue;
      if (!best || load.at(server) < load.at(*best)) best = server;
    }
    return best;
  }

  // Copies that nobody asked for, and those in the way of a home that can go nowhere else.
  void DropCopies() {
    for (size_t i = 0; i < shards_.size() && !Full(); ++i) {
      Shard& shard = shards_[i];
      if (changed_[i] || shard.backup == NodeId()) continue;
      const bool in_the_way = !Wanted(shard.home) && !Lightest(homes_, shard.home, shard.backup);
      if (CopiesWanted() > 0 && !in_the_way) continue;
      if (Wanted(shard.backup)) copies_[shard.backup] -= Weight(i);
      shard.backup = NodeId();
      Note(PlacementChange::Kind::kDropBackup, i, NodeId());
    }
  }

  void MoveHome(size_t shard, NodeId to) {
    if (Wanted(shards_[shard].home)) homes_[shards_[shard].home] -= Weight(shard);
    homes_[to] += Weight(shard);
    shards_[shard].home = to;
    Note(PlacementChange::Kind::kMoveHome, shard, to);
  }

  // Heavy ones first: they are harder to place.
  void EmptyUnwanted() {
    std::vector<size_t> moving;
    for (size_t i = 0; i < shards_.size(); ++i) {
      if (!changed_[i] && !Wanted(shards_[i].home)) moving.push_back(i);
    }
    std::ranges::stable_sort(moving, std::greater<>(), [&](size_t i) { return Weight(i); });
    for (const size_t i : moving) {
      if (Full()) return;
      if (const auto to = Lightest(homes_, shards_[i].home, shards_[i].backup)) MoveHome(i, *to);
    }
  }

  // From the fullest to the emptiest server, the shard that brings both nearest to each other, while that helps. A
  // shard whose backup is the emptiest server cannot go there.
  void Balance() {
    const double mean = total_ / static_cast<double>(goal_.servers.size());
    while (!Full()) {
      const auto by_load = [&](NodeId a, NodeId b) { return homes_[a] < homes_[b]; };
      const NodeId fullest = *std::ranges::max_element(goal_.servers, by_load);
      const NodeId emptiest = *std::ranges::min_element(goal_.servers, by_load);
      const double gap = homes_[fullest] - homes_[emptiest];
      if (gap <= std::max(heaviest_, goal_.tolerance * mean)) return;
      std::optional<size_t> best;
      double best_miss = gap / 2;  // moving nothing misses the middle by this
      for (size_t i = 0; i < shards_.size(); ++i) {
        if (changed_[i] || shards_[i].home != fullest || shards_[i].backup == emptiest) continue;
        const double miss = std::abs(gap / 2 - Weight(i));
        if (miss >= best_miss) continue;
        best = i;
        best_miss = miss;
      }
      if (!best) return FreeAWay(fullest, emptiest);
      MoveHome(*best, emptiest);
    }
  }

  // Every shard of `from` has its copy at `to`: one copy is given up, so that its home can move next time. With two
  // servers there is no other way.
  void FreeAWay(NodeId from, NodeId to) {
    if (Wanted(from) && homes_[from] - homes_[to] < 2 * heaviest_) return;
    for (size_t i = 0; i < shards_.size() && !Full(); ++i) {
      if (changed_[i] || shards_[i].home != from || shards_[i].backup != to) continue;
      copies_[to] -= Weight(i);
      shards_[i].backup = NodeId();
      return Note(PlacementChange::Kind::kDropBackup, i, NodeId());
    }
  }

  void AddCopies() {
    if (CopiesWanted() == 0) return;
    for (size_t i = 0; i < shards_.size() && !Full(); ++i) {
      const Shard& shard = shards_[i];
      if (changed_[i] || !Wanted(shard.home)) continue;
      if (shard.backup != NodeId() && Wanted(shard.backup)) continue;
      Copy(i, *Lightest(copies_, shard.home, NodeId()));
    }
    BalanceCopies();
  }

  void Copy(size_t i, NodeId to) {
    if (Wanted(shards_[i].backup)) copies_[shards_[i].backup] -= Weight(i);
    copies_[to] += Weight(i);
    Note(PlacementChange::Kind::kAddBackup, i, to);
  }

  void BalanceCopies() {
    const double mean = total_ / static_cast<double>(goal_.servers.size());
    for (size_t i = 0; i < shards_.size() && !Full(); ++i) {
      const Shard& shard = shards_[i];
      if (changed_[i] || shard.backup == NodeId()) continue;
      const auto to = Lightest(copies_, shard.home, shard.backup);
      if (!to) continue;
      const double gap = copies_[shard.backup] - copies_[*to];
      if (gap > std::max(2 * heaviest_, goal_.tolerance * mean) && Weight(i) < gap) Copy(i, *to);
    }
  }

  std::vector<Shard> shards_;
  const PlacementGoal& goal_;
  std::vector<char> changed_;
  std::map<NodeId, double> homes_, copies_;  // weight by wanted server
  double total_ = 0, heaviest_ = 0;
  std::vector<PlacementChange> changes_;
};

}  // namespace

std::vector<PlacementChange> PlanPlacement(const ShardMap& map, const PlacementGoal& goal) {
  return Planner(map, goal).Plan();
}

ShardMap WithChanges(const ShardMap& map, std::span<const PlacementChange> changes, MapVersion version) {
  ShardMap next = map;
  next.version = version;
  for (const PlacementChange& change : changes) {
    Shard& shard = next.shards[change.shard.value()];
    switch (change.kind) {
      case PlacementChange::Kind::kMoveHome:
        shard.home = change.to;
        shard.routing_since = version;
        break;
      case PlacementChange::Kind::kAddBackup:
        shard.next_backup = change.to;
        shard.join_id = version;
        break;
      case PlacementChange::Kind::kDropBackup:
        shard.backup = NodeId();
        break;
    }
  }
  return next;
}

}  // namespace attune::ps
