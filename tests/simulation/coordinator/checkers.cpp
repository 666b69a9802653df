#include "tests/simulation/coordinator/simulation.h"

#include <algorithm>
#include <utility>

namespace attune::ps::simulation {

// What an answered scaling promises.
void CoordinatorSimulation::CheckEven() {
  const ShardMap& map = Chief().map();
  std::map<NodeId, int> homes;
  for (const Member& member : map.members) {
    if (member.role == Role::kServer) homes[member.node] = 0;
  }
  for (const Shard& shard : map.shards) {
    ++homes[shard.home];
    if (homes.size() > 1 && parameters_.backups > 0 && shard.backup == NodeId()) Violation("AtRest: a copy is missing");
  }
  const auto [least, most] = std::ranges::minmax_element(homes, {}, [](const auto& entry) { return entry.second; });
  if (homes.size() != servers_wanted_) Violation("AtRest: " + std::to_string(homes.size()) + " servers");
  const bool by_load = parameters_.eager_relief;  // then they need not be as many
  const auto machine_of = [&](NodeId node) {
    const auto server = std::ranges::find(servers_, node, &Server::node);
    const std::string machine = MachineOf(static_cast<size_t>(server - servers_.begin()));
    return machine.empty() ? "one for node " + std::to_string(node.value()) : machine;
  };
  // Those of two machines keep each other's copies, and give none up for less than a third above the mean
  // (docs/decisions/0066).
  std::set<std::string> machines;
  for (const auto& [node, count] : homes) machines.insert(machine_of(node));
  const bool two_with_copies = std::min(homes.size(), machines.size()) == 2 && parameters_.backups > 0;
  const auto third_above = static_cast<int>(map.shards.size() * 4 / (3 * homes.size()));
  const bool even = most->second - least->second <= 1 || (two_with_copies && most->second <= third_above);
  if (even || by_load) return;
  std::string text = "AtRest: homes are uneven:";
  for (const auto& [node, count] : homes) {
    text += " " + std::to_string(count) + " at node " + std::to_string(node.value()) + " on " + machine_of(node) + ";";
  }
  Violation(text);
}

// What the last map is compared with. A map that the coordinator before had published, and that no member has heard of,
// is no map: another coordinator continues from the newest one that members know.
MapVersion CoordinatorSimulation::MapBefore(const ShardMap& map) const {
  if (map.version.term() == last_map_.term()) return last_map_;
  MapVersion known;
  for (const Server& server : servers_) {
    if (server.alive && map.Contains(server.node)) known = std::max(known, server.map.version);
  }
  for (const auto& worker : workers_) {
    if (worker->alive && map.Contains(worker->core->node())) known = std::max(known, worker->core->map().version);
  }
  return known;
}

// MapUnique and OneChange, at the moment a map is made.
void CoordinatorSimulation::OnMapPublished(size_t leader) {
  const ShardMap& map = leaders_[leader]->core->map();
  if (!map.formed() || leader != chief_) return;
  const auto [it, is_new] = maps_.try_emplace(map.version, map);
  if (!is_new) {
    if (!(it->second == map)) Violation("MapUnique: two maps with one version");
    return;
  }
  Count("maps");
  if (map.version < last_map_) Violation("MapUnique: an older map after a newer one");
  if (const Status status = Validate(map); !status.ok()) return Violation("MapUnique: " + attune::ToString(status));
  const auto before = maps_.find(MapBefore(map));
  last_map_ = map.version;
  for (Server& server : servers_) {  // drained: what it had applied is elsewhere, and it applies nothing more
    // A coordinator that continues from an older map takes back what the one before did alone.
    if (map.Contains(server.node)) server.released = false;
    if (server.released || server.node == NodeId() || map.Contains(server.node)) continue;
    server.released = true;
    if (server.alive) moved_.insert(server.applied.begin(), server.applied.end());
  }
  if (before == maps_.end() || before->second.recovered_at != map.recovered_at) {
    Count("recoveries", before == maps_.end() ? 0 : 1);
    return;
  }
  bool planned = false;
  for (size_t i = 0; i < map.shards.size(); ++i) {
    const Shard& was = before->second.shards[i];
    const Shard& is = map.shards[i];
    planned = planned || !(was == is);
    Count("copies completed", was.next_backup != NodeId() && is.backup == was.next_backup ? 1 : 0);
    if (was.home != is.home && was.backup == is.home) Violation("OneChange: a home moves to its own backup");
    if (was.next_backup != NodeId() && is.next_backup != was.next_backup && is.backup != was.next_backup) {
      Violation("OneChange: a copy in progress was dropped without a failure");
    }
    if (is.backup == was.next_backup && was.next_backup != NodeId() && is.backup != was.backup) {
      for (const Server& server : servers_) {
        if (server.alive && map.Contains(server.node) && !server.joins_done.contains(was.join_id)) {
          Violation("OneChange: a backup was appointed before all members had sent it their copies");
        }
      }
    }
  }
  if (!planned) return;
  for (const Server& server : servers_) {
    if (!server.alive || !map.Contains(server.node) || !before->second.Contains(server.node)) continue;
    if (server.not_ready > 0 || server.map.version < before->second.version) {
      Violation("OneChange: shards change while server " + std::to_string(server.index) + " is not ready");
    }
  }
}

// CutExact.
// One that is marked is better than the one that was the best, by what was really reported; all others leave that one
// in its place.
void CoordinatorSimulation::CheckBest(const CheckpointCommit& commit, size_t leader) {
  const auto& marked = commit.record.best;
  const auto known = leaders_[leader]->core->progress().best_checkpoint;
  if (!marked) {
    if (known) Violation("BestKept: a checkpoint does not know the best one");
    return;
  }
  if (!reported_.contains(marked->value)) Violation("BestKept: marked with a value that was not reported");
  if (marked->checkpoint == commit.checkpoint) {
    Count("best checkpoints");
    if (known && marked->value >= known->value) Violation("BestKept: marked, and no better than the best one");
  } else if (!known || known->checkpoint != marked->checkpoint) {
    Violation("BestKept: a checkpoint names another as the best one");
  }
}

void CoordinatorSimulation::CheckCut(const CutRecord& record, size_t leader) {
  if (any_server_died_ || record.data_sets.empty()) return;  // rows may have been restored
  const auto contained = [&](uint64_t epoch, uint64_t item) { return Contains(record, epoch, item); };
  const MarkedCut& cut = leaders_[leader]->cut;
  const bool exact = record.synchronization != "async";
  std::map<std::pair<uint64_t, uint64_t>, bool> in_rows;
  for (size_t i = 0; i < pushes_.size(); ++i) {
    const PushAccount& push = pushes_[i];
    const bool copied = cut.copied.contains(i);
    in_rows[{push.epoch, push.item}] = in_rows[{push.epoch, push.item}] || copied;
    const std::string name = "item " + std::to_string(push.item) + " of epoch " + std::to_string(push.epoch) +
                             ", pushed in step " + std::to_string(push.step) + ", cut at " +
                             std::to_string(record.clock);
    const Worker& worker = *workers_[push.worker];
    // A worker follows another coordinator while this one, not heard of it, takes it for lost: its items are others'
    // then, also when it leaves there.
    const bool has_left = worker.left_under && *worker.left_under <= leader;
    const bool lost_to_this_one = !has_left && !cut.members.Contains(worker.core->node());
    if (!exact || worker.lost || lost_to_this_one) continue;
    // Under Async, before, one that has left may have been far ahead: all that it has done is contained.
    const bool in_cut = push.step < record.clock || worker.leaves_at <= cut.at;
    if (copied && !in_cut) Violation("CutExact: in the rows too early: " + name);
    if (in_cut && !copied) Violation("CutExact: not in the rows: " + name);
    if (in_cut && !contained(push.epoch, push.item)) {
      Violation("CutExact: would be processed again: " + name);
    }
  }
  for (const auto& [item, copied] : in_rows) {
    if (contained(item.first, item.second) && !copied) {
      Violation("CutExact: item " + std::to_string(item.second) + " of epoch " + std::to_string(item.first) +
                " would be omitted");
    }
  }
}

void CoordinatorSimulation::CheckEnd() {
  const JobProgress progress = Chief().progress();
  if (violated()) return;
  if (!finished_) {
    return Violation("EveryCallEnds: the job did not finish: " + std::to_string(progress.items_done) + " of " +
                     std::to_string(progress.items_total) + " items done, " + std::to_string(Running()) +
                     " workers, floor held by \"" + progress.floor_holder + "\"");
  }
  items_.CheckEnd(parameters_.epochs, parameters_.items, progress, any_failure_);
}

}  // namespace attune::ps::simulation
