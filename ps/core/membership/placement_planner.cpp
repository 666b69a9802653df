#include "ps/core/membership/placement_planner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"

namespace attune::ps {
namespace {

// Of two servers that keep each other's copies neither can take a home without a copy being given up for a while, in
// which a loss costs rows. That is worth it only where one has so many times the mean.
constexpr double kWorthACopy = 4.0 / 3;

// Plans on a copy of the map: what is planned counts as done.
class Planner {
 public:
  Planner(const ShardMap& map, const PlacementGoal& goal) : shards_(map.shards), goal_(goal) {
    ATTUNE_CHECK(!goal.servers.empty());
    changed_.resize(shards_.size());
    for (const NodeId server : goal.servers) homes_[server] = copies_[server] = 0;
    for (size_t i = 0; i < shards_.size(); ++i) {
      changed_[i] = shards_[i].next_backup != NodeId() ? 1 : 0;
      total_ += Weight(i);
      heaviest_ = std::max(heaviest_, Weight(i));
      ++shards_at_[shards_[i].home];
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

  // Whether no single machine takes both along. Also where one of them is none.
  bool Apart(NodeId a, NodeId b) const {
    const auto machine_of_a = goal_.machines.find(a), machine_of_b = goal_.machines.find(b);
    const auto end = goal_.machines.end();
    return machine_of_a == end || machine_of_b == end || machine_of_a->second.empty() ||
           machine_of_a->second != machine_of_b->second;
  }

  // The least loaded wanted server other than these two that a home may move to. On the machine of its copy it costs
  // one move more, that of the copy.
  std::optional<NodeId> LightestHome(size_t shard) const {
    const NodeId copy = shards_[shard].backup;
    std::optional<NodeId> best;
    double best_cost = 0;
    for (const NodeId server : goal_.servers) {
      if (server == shards_[shard].home || server == copy) continue;
      const double cost = homes_.at(server) + (Apart(server, copy) ? 0 : Weight(shard));
      if (best && cost >= best_cost) continue;
      best = server;
      best_cost = cost;
    }
    return best;
  }

  // For the copy of a shard with this home: the least loaded one on another machine, or on this one where there is no
  // other.
  std::optional<NodeId> LightestCopy(NodeId home, NodeId nor_this) const {
    std::optional<NodeId> best;
    const auto rank = [&](NodeId server) { return std::pair(!Apart(server, home), copies_.at(server)); };
    for (const NodeId server : goal_.servers) {
      if (server == home || server == nor_this) continue;
      if (!best || rank(server) < rank(*best)) best = server;
    }
    return best;
  }

  // Copies that were not asked for, and those in the way of a home that can go nowhere else.
  void DropCopies() {
    for (size_t i = 0; i < shards_.size() && !Full(); ++i) {
      Shard& shard = shards_[i];
      if (changed_[i] || shard.backup == NodeId()) continue;
      const bool in_the_way = !Wanted(shard.home) && !LightestHome(i);
      if (CopiesWanted() > 0 && !in_the_way) continue;
      if (Wanted(shard.backup)) copies_[shard.backup] -= Weight(i);
      shard.backup = NodeId();
      Note(PlacementChange::Kind::kDropBackup, i, NodeId());
    }
  }

  void MoveHome(size_t shard, NodeId to) {
    const NodeId from = std::exchange(shards_[shard].home, to), copy = shards_[shard].backup;
    if (Wanted(from)) homes_[from] -= Weight(shard);
    homes_[to] += Weight(shard);
    --shards_at_[from];
    ++shards_at_[to];
    if (Apart(to, copy) || !Apart(to, from)) return Note(PlacementChange::Kind::kMoveHome, shard, to);
    if (Wanted(copy)) copies_[copy] -= Weight(shard);
    if (Wanted(from)) copies_[from] += Weight(shard);
    Note(PlacementChange::Kind::kTradePlace, shard, to);
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
      const auto to = LightestHome(i);
      if (!to) continue;
      if (CopyMovesFirst(i, *to)) {
        homes_[shards_[i].backup] += Weight(i);
        Copy(i, *to);
      } else {
        MoveHome(i, *to);
      }
    }
  }

  // The two that stay will keep each other's copies, and then neither can take a home: now the copy can go to the one
  // that has more homes first, and the home to the other next time. Not beside a home whose copy is on another machine:
  // until the home has moved, that machine would have all of the shard.
  bool CopyMovesFirst(size_t i, NodeId to) const {
    const NodeId home = shards_[i].home, copy = shards_[i].backup;
    if (goal_.servers.size() != 2 || !Wanted(copy) || homes_.at(copy) + Weight(i) > homes_.at(to)) return false;
    return Apart(home, to) || !Apart(home, copy);
  }

  // From the fullest to the emptiest server, the shard that brings both nearest to each other, while that helps. One
  // that cannot go to the emptiest server, which has its copy, goes to another, and a server that nothing can leave
  // keeps no other from being relieved.
  void Balance() {
    const double mean = total_ / static_cast<double>(goal_.servers.size());
    const auto load = [&](NodeId server) { return homes_[server]; };
    std::vector<NodeId> givers = goal_.servers;
    while (!Full() && !givers.empty()) {
      std::vector<NodeId> takers = goal_.servers;
      std::erase_if(takers, [&](NodeId server) { return shards_at_[server] >= goal_.homes_max; });
      if (takers.empty()) return;
      const NodeId fullest = *std::ranges::max_element(givers, {}, load);
      const NodeId emptiest = *std::ranges::min_element(takers, {}, load);
      if (load(fullest) - load(emptiest) <= goal_.tolerance * mean) return;
      std::ranges::stable_sort(takers, {}, load);
      if (std::ranges::any_of(takers, [&](NodeId taker) { return MoveBest(fullest, taker); })) continue;
      // Where there are more than two, the others have been tried.
      if (goal_.servers.size() > 2) {
        std::erase(givers, fullest);
      } else if (load(fullest) > kWorthACopy * mean) {
        return FreeAWay(fullest, emptiest);
      } else {
        return;
      }
    }
  }

  // One whose copy can stay where it is before others. False: no move between these two helps. A shard whose backup is
  // the other server cannot go there.
  bool MoveBest(NodeId from, NodeId to) {
    const double gap = homes_[from] - homes_[to];
    std::optional<size_t> best;
    std::pair<bool, double> best_rank;
    for (size_t i = 0; i < shards_.size(); ++i) {
      if (changed_[i] || shards_[i].home != from || shards_[i].backup == to || !Helps(i, gap)) continue;
      const std::pair rank(!Apart(to, shards_[i].backup), std::abs(gap / 2 - Weight(i)));
      if (best && rank >= best_rank) continue;
      best = i;
      best_rank = rank;
    }
    if (best) MoveHome(*best, to);
    return best.has_value();
  }

  // Moving it from a server to one that has so much less: better than moving nothing.
  bool Helps(size_t shard, double gap) const { return std::abs(gap / 2 - Weight(shard)) < gap / 2; }

  // Every shard of `from` that would help has its copy at `to`: one copy is given up, so that its home can move next
  // time; of the heaviest shard that leaves `from` with no less than `to` then has. With two servers there is no other
  // way.
  void FreeAWay(NodeId from, NodeId to) {
    const double gap = homes_[from] - homes_[to];
    std::optional<size_t> best;
    for (size_t i = 0; i < shards_.size() && !Full(); ++i) {
      if (changed_[i] || shards_[i].home != from || shards_[i].backup != to) continue;
      if (2 * Weight(i) > gap || !Helps(i, gap) || (best && Weight(i) <= Weight(*best))) continue;
      best = i;
    }
    if (!best) return;
    copies_[to] -= Weight(*best);
    shards_[*best].backup = NodeId();
    Note(PlacementChange::Kind::kDropBackup, *best, NodeId());
  }

  void AddCopies() {
    if (CopiesWanted() == 0) return;
    for (size_t i = 0; i < shards_.size() && !Full(); ++i) {
      const Shard& shard = shards_[i];
      if (changed_[i] || !Wanted(shard.home)) continue;
      if (shard.backup != NodeId() && Wanted(shard.backup)) continue;
      Copy(i, *LightestCopy(shard.home, NodeId()));
    }
    PartCopies();
    BalanceCopies();
  }

  void Copy(size_t i, NodeId to) {
    if (Wanted(shards_[i].backup)) copies_[shards_[i].backup] -= Weight(i);
    copies_[to] += Weight(i);
    Note(PlacementChange::Kind::kAddBackup, i, to);
  }

  // Copies that are on the machine of their home move when there is another one.
  void PartCopies() {
    for (size_t i = 0; i < shards_.size() && !Full(); ++i) {
      const Shard& shard = shards_[i];
      if (changed_[i] || shard.backup == NodeId() || Apart(shard.home, shard.backup)) continue;
      const auto to = LightestCopy(shard.home, shard.backup);
      if (to && Apart(shard.home, *to)) Copy(i, *to);
    }
  }

  void BalanceCopies() {
    const double mean = total_ / static_cast<double>(goal_.servers.size());
    for (size_t i = 0; i < shards_.size() && !Full(); ++i) {
      const Shard& shard = shards_[i];
      if (changed_[i] || shard.backup == NodeId()) continue;
      const auto to = LightestCopy(shard.home, shard.backup);
      if (!to || (Apart(shard.home, shard.backup) && !Apart(shard.home, *to))) continue;
      const double gap = copies_[shard.backup] - copies_[*to];
      if (gap > std::max(2 * heaviest_, goal_.tolerance * mean) && Weight(i) < gap) Copy(i, *to);
    }
  }

  std::vector<Shard> shards_;
  const PlacementGoal& goal_;
  std::vector<char> changed_;
  std::map<NodeId, double> homes_, copies_;  // weight by wanted server
  std::map<NodeId, size_t> shards_at_;       // by home, wanted or not
  double total_ = 0, heaviest_ = 0;
  std::vector<PlacementChange> changes_;
};

}  // namespace

std::vector<PlacementChange> PlanPlacement(const ShardMap& map, const PlacementGoal& goal) {
  return Planner(map, goal).Plan();
}

ShardMap PlacedAtOnce(ShardMap map, const PlacementGoal& goal) {
  while (true) {
    const std::vector<PlacementChange> changes = PlanPlacement(map, goal);
    if (changes.empty()) return map;
    map = WithChanges(map, changes, map.version);
    for (Shard& shard : map.shards) {
      if (shard.next_backup != NodeId()) shard.backup = std::exchange(shard.next_backup, NodeId());
      shard.join_id = MapVersion();
    }
  }
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
      case PlacementChange::Kind::kTradePlace:
        shard.next_backup = std::exchange(shard.home, change.to);
        shard.routing_since = shard.join_id = version;
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
