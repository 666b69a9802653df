#include "tests/simulation/rows/simulation.h"

#include <algorithm>
#include <set>
#include <utility>

namespace attune::ps::simulation {

bool RowSimulation::Quiet() const {
  for (const Member& member : map_->members) {
    if (!Alive(member.node) || nodes_.at(member.node.value())->suspected) return false;
    const auto report = reports_.find(member.node);
    if (report == reports_.end() || report->second.map_version != map_->version) {
      return false;
    }
    if (report->second.shards_not_ready > 0 && !RowMutant(RowMutation::kPlannedChangeBeforeRecoveryDone)) return false;
  }
  return std::ranges::all_of(map_->shards, [](const Shard& shard) { return shard.next_backup == NodeId(); });
}

void RowSimulation::MoveHome() {
  ShardMap next = *map_;
  next.version = next.version.Next();
  const std::vector<NodeId> servers = Members(Role::kServer);
  // As the coordinator does it: no server owns rows of a shard that is homed elsewhere when a home begins to move.
  const bool at_rest = p_.trades && std::ranges::all_of(servers, [this](NodeId server) {
                         return reports_.at(server).rows_to_come == 0 && At(server).rows->Report().rows_foreign == 0;
                       });
  bool any = false;
  for (size_t i = 0; i < next.shards.size(); ++i) {
    Shard& shard = next.shards[i];
    const NodeId to = servers[random().Below(servers.size())];
    if (to == shard.home || to == shard.backup || map_->Find(to)->leaving || (any && random().Chance(0.5))) continue;
    const NodeId from = std::exchange(shard.home, to);
    shard.routing_since = next.version;
    any = true;
    if (!at_rest || shard.backup == NodeId() || random().Chance(0.2)) continue;
    shard.next_backup = from;
    shard.join_id = next.version;
    if (p_.machine) After(network_.Delay(8), [this, i] { LoseMachine(i); });
  }
  if (!any) return;
  --home_moves_left_;
  Count("home moves");
  Publish(std::move(next), "a home moves");
}

// A shard's new home and its backup, which are on one machine: the home before has what they had.
void RowSimulation::LoseMachine(size_t shard) {
  const Shard& moving = map_->shards[shard];
  const std::vector<NodeId> victims{moving.home, moving.backup};
  if (!moving.next_was_home() || moving.backup == NodeId()) return;
  if (!std::ranges::all_of(victims, [this](NodeId node) { return MayCrash(node); })) return;
  if (const NodeId left = moving.next_backup; !Alive(left) || At(left).suspected) return;
  Count("machines lost");
  NoteExposed(victims);
  for (const NodeId victim : victims) {
    declared_[victim] = true;
    Trace(std::to_string(victim.value()) + " is lost with its machine");
    At(victim).alive = false;
  }
  if (random().Chance(0.5)) return After(network_.Delay(4), [this, victims] { Declare(victims); });
  const bool home_first = random().Chance(0.5);
  After(network_.Delay(4), [this, first = victims[home_first ? 0 : 1], last = victims[home_first ? 1 : 0]] {
    Declare({first});
    declared_[last] = true;
    After(network_.Delay(12), [this, last] { Declare({last}); });
  });
}

void RowSimulation::BeginJoin() {
  ShardMap next = *map_;
  next.version = next.version.Next();
  const std::vector<NodeId> servers = Members(Role::kServer);
  bool any = false;
  for (size_t i = 0; i < next.shards.size(); ++i) {
    Shard& shard = next.shards[i];
    const NodeId to = servers[random().Below(servers.size())];
    if (to == shard.home || to == shard.backup || map_->Find(to)->leaving || (any && random().Chance(0.5))) continue;
    shard.next_backup = to;
    shard.join_id = next.version;
    any = true;
  }
  if (!any) return;
  --joins_left_;
  if (p_.slow_spare && !std::exchange(cancelled_, true)) {  // this one will not be completed
    After(network_.Delay(6), [this] { CrashNode(Members(Role::kWorker).back(), false); });
  }
  Count("joins");
  Publish(std::move(next), "a backup joins");
}

void RowSimulation::BeginDrain() {
  const std::vector<NodeId> servers = Members(Role::kServer);
  if (servers.size() < (p_.backups ? 3U : 2U)) return;
  ShardMap next = *map_;
  next.version = next.version.Next();
  const size_t index = random().Below(next.members.size());
  Member& member = next.members[index];
  member.leaving = true;
  draining_ = member.node;
  --drains_left_;
  Publish(std::move(next), "a node leaves");
}

// The coordinator looks at the reports: joins that are complete, planned changes that may begin, a drain's next step.
void RowSimulation::Advance() {
  std::set<MapVersion> complete;
  for (const Shard& shard : map_->shards) {
    if (shard.next_backup != NodeId()) complete.insert(shard.join_id);
  }
  for (const MapVersion join : std::set(complete)) {
    for (const Member& member : map_->members) {
      const auto report = reports_.find(member.node);
      const bool done = report != reports_.end() && report->second.map_version >= join && Alive(member.node) &&
                        std::ranges::find(report->second.joins_done, join) != report->second.joins_done.end();
      if (!done) complete.erase(join);
    }
  }
  if (!complete.empty()) {
    ShardMap next = *map_;
    next.version = next.version.Next();
    for (Shard& shard : next.shards) {
      if (!complete.contains(shard.join_id) || shard.next_backup == NodeId()) continue;
      shard.backup = std::exchange(shard.next_backup, NodeId());
    }
    return Publish(std::move(next), "a backup is complete");
  }
  if (!Quiet()) return;
  if (p_.slow_spare && map_->recovered_at > MapVersion() && !std::exchange(tried_again_, true)) {
    for (Key key = 1; key <= p_.keys; ++key) LocalizeAt(map_->shards[0].home, TableId(1), {key}, SpareServer());
    After(network_.Delay(3), [this] {
      if (Quiet()) BeginJoin();
    });
  }
  if (draining_) {
    const NodeId node = *draining_;
    if (!map_->Contains(node)) {
      draining_.reset();
      return;
    }
    ShardMap next = *map_;
    next.version = next.version.Next();
    std::vector<NodeId> others = Members(Role::kServer);
    std::erase(others, node);
    if (others.empty()) {  // a crash has taken the others: it stays
      draining_.reset();
      return;
    }
    bool changed = false;
    for (Shard& shard : next.shards) {
      if (shard.home != node && shard.backup != node) continue;
      const NodeId other = others[random().Below(others.size())];
      if (shard.home == node && other != shard.backup) {
        shard.home = other;
        shard.routing_since = next.version;
        changed = true;
      } else if (shard.backup == node && other != shard.home) {
        shard.next_backup = other;
        shard.join_id = next.version;
        changed = true;
      }
    }
    if (changed) return Publish(std::move(next), "shards leave a draining node");
    const RowsReport& report = reports_.at(node);
    bool named = false, to_come = false;
    for (const Shard& shard : map_->shards) named = named || shard.home == node || shard.backup == node;
    for (const auto& [id, other] : reports_) to_come = to_come || (map_->Contains(id) && other.rows_to_come > 0);
    const bool idle = std::ranges::all_of(At(node).pushes, [&](size_t i) { return pushes_[i].All(); });
    // What it has sent must have arrived: orders it gave as a home, for example.
    const bool sent = std::ranges::all_of(At(node).links, [](const auto& link) { return link.second.queued() == 0; });
    if (named || to_come || !sent || report.rows_held > 0 || report.handovers_open > 0 ||
        report.operations_waiting > 0 || !idle) {
      After(network_.Delay(4), [this, node] {
        if (Alive(node)) {
          reports_[node] = At(node).rows->Report();
          reports_[node].number = ++next_report_;
        }
        if (draining_) Advance();
      });
      return;
    }
    std::erase_if(next.members, [&](const Member& member) { return member.node == node; });
    draining_.reset();
    Count("drains");
    At(node).alive = false;
    return Publish(std::move(next), "a node has left");
  }
}

void RowSimulation::Script() {
  const auto planned = [this](uint32_t count, void (RowSimulation::*begin)(), uint32_t& left) {
    left = count;
    const uint32_t tries = p_.slow_backup || p_.slow_spare ? 10 : 3;
    for (uint32_t i = 0; i < count * tries; ++i) {  // some come at a bad time
      After(Sometime(), [this, begin, &left] {
        if (left > 0 && Quiet() && !draining_) (this->*begin)();
      });
    }
  };
  planned(p_.home_moves, &RowSimulation::MoveHome, home_moves_left_);
  planned(p_.joins, &RowSimulation::BeginJoin, joins_left_);
  planned(p_.drains, &RowSimulation::BeginDrain, drains_left_);
  if (p_.chain) After(Sometime(), [this] { Chain(); });
  if (p_.detour) After(Sometime(), [this] { Detour(); });
  if (p_.outrun) After(Sometime(0.6), [this] { Outrun(); });
  if (p_.comes_back) After(Sometime(0.3), [this] { ComesBack(); });
  if (p_.stale_marker) After(Sometime(0.3), [this] { StaleMarker(); });
  for (uint32_t i = 0; i < p_.crashes && !p_.chain; ++i) After(Sometime(), [this] { Crash(false); });
  for (uint32_t i = 0; i < p_.suspicions; ++i) After(Sometime(), [this] { Crash(true); });
  for (uint32_t i = 0; i < p_.pauses; ++i) After(Sometime(), [this] { Pause(); });
  for (uint32_t i = 0; i < p_.partitions; ++i) After(Sometime(), [this] { Part(); });
  for (uint32_t i = 0; i < p_.pushes; ++i) After(Sometime(p_.slow_spare ? 0.3 : 1), [this] { IssuePush(); });
  for (uint32_t i = 0; i < p_.pulls; ++i) After(Sometime(), [this] { IssuePull(); });
  for (uint32_t i = 0; i < p_.reissues; ++i) After(Sometime(), [this] { Reissue(); });
  for (uint32_t i = 0; i < p_.localizes; ++i) After(Sometime(), [this] { IssueLocalize(); });
  for (uint32_t i = 0; i < p_.rounds; ++i) After(Sometime(), [this] { IssueRound(); });
  if (p_.slow_spare) {
    After(network_.Delay(4), [this] {
      for (Key key = 1; key <= p_.keys; ++key) {
        LocalizeAt(map_->shards[0].home, TableId(1), {key}, Members(Role::kWorker).front());
      }
    });
  }
  After(FromMilliseconds(p_.span * 1.2), [this] {
    network_.Calm();
    network_.Heal();
  });
}

// One at a time, and never the last of its kind.
bool RowSimulation::MayCrash(NodeId victim) const {
  if (!declared_.empty() || !Alive(victim) || !map_->Contains(victim)) return false;
  const Node& node = *nodes_.at(victim.value());
  const auto others = std::ranges::count_if(map_->members, [&](const Member& member) {
    return member.node != victim && member.role == node.role && Alive(member.node) &&
           !nodes_.at(member.node.value())->suspected;
  });
  return !node.suspected && others > 0;
}

void RowSimulation::Crash(bool only_suspect) {
  std::vector<NodeId> victims;
  for (const Member& member : map_->members) {
    if (Alive(member.node) && !At(member.node).suspected) victims.push_back(member.node);
  }
  if (victims.empty()) return;
  NodeId victim = victims[random().Below(victims.size())];
  if (p_.slow_backup && random().Chance(p_.joins > 0 ? 0.3 : 0.7)) victim = map_->shards[0].home;
  if (p_.slow_spare && random().Chance(0.7)) victim = Members(Role::kWorker).back();
  if (!p_.slow_backup || p_.joins > 0) return CrashNode(victim, only_suspect);
  // Readers see what no other node knows of yet.
  for (uint32_t i = 0; i < p_.pulls; ++i) IssuePull();
  After(network_.Delay(3), [this, victim, only_suspect] { CrashNode(victim, only_suspect); });
}

// What may be lost with these: what they hold of a shard that has no complete backup, or of any, while an earlier loss
// is not healed.
void RowSimulation::NoteExposed(const std::vector<NodeId>& victims) {
  const auto has_recovered = [&](const Member& member) {
    const auto report = reports_.find(member.node);
    return report != reports_.end() && report->second.map_version >= map_->recovered_at &&
           report->second.shards_not_ready == 0;
  };
  const bool healed = map_->recovered_at == MapVersion() || std::ranges::all_of(map_->members, has_recovered);
  for (uint32_t i = 0; i < map_->shard_count(); ++i) {
    const Shard& shard = map_->shards[i];
    const bool with_them = std::ranges::find(victims, shard.backup) != victims.end();
    const bool has_copies = shard.backup != NodeId() && !(with_them && victims.size() > 1);
    if (!healed || !(has_copies || NextHasAllOf(*map_, shard, victims))) exposed_.insert(i);
  }
}

void RowSimulation::CrashNode(NodeId victim, bool only_suspect) {
  if (!MayCrash(victim)) return;
  NoteExposed({victim});
  declared_[victim] = true;
  // Readers see what the node did last, and look again when others have taken over.
  for (uint32_t i = 0; i < p_.pulls / 2; ++i) {
    After(network_.Delay(), [this] { IssuePull(); });
    After(network_.Delay(12), [this] { IssuePull(); });
  }
  if (!only_suspect) {  // of what it has sent last, some peers get less than others
    for (const auto& [peer, link] : At(victim).links) {
      if (random().Chance(0.5)) network_.Cut(victim.value(), peer.value());
    }
  }
  Trace(std::to_string(victim.value()) + (only_suspect ? " is suspected" : " crashes"));
  if (only_suspect) {
    At(victim).suspected = true;
  } else {
    At(victim).alive = false;
  }
  After(network_.Delay(4), [this, victim] { Declare({victim}); });
}

void RowSimulation::Declare(const std::vector<NodeId>& failed) {
  Count("recoveries");
  const auto is_failed = [&](NodeId node) { return std::ranges::find(failed, node) != failed.end(); };
  ShardMap next = WithoutFailed(*map_, failed);
  if (RowMutant(RowMutation::kFailureKeepsNextBackup)) {
    for (size_t i = 0; i < next.shards.size(); ++i) {
      const Shard& before = map_->shards[i];
      if (before.next_backup == NodeId() || is_failed(before.next_backup) || before.next_backup == next.shards[i].home)
        continue;
      next.shards[i].next_backup = before.next_backup;
      next.shards[i].join_id = before.join_id;
    }
  }
  if (draining_ && is_failed(*draining_)) draining_.reset();
  declared_.clear();
  Publish(std::move(next), "a node has failed");
}

// A process stops, and may be declared lost before it runs again, or after.
void RowSimulation::Pause() {
  const NodeId node = map_->members[random().Below(map_->members.size())].node;
  if (!Runs(node)) return;
  Count("pauses");
  Trace(std::to_string(node.value()) + " is paused");
  network_.Pause(node.value());
  After(FromMilliseconds(random().Uniform() * p_.pause), [this, node] {
    Trace(std::to_string(node.value()) + " runs again");
    network_.Resume(node.value());
  });
  if (!random().Chance(0.4) || !MayCrash(node)) return;
  Count("declared lost while paused");
  CrashNode(node, true);
}

// Some nodes reach neither the others nor the coordinator, which may take one of them for dead meanwhile.
void RowSimulation::Part() {
  std::set<Place> these;
  for (const Member& member : map_->members) {
    if (random().Chance(0.4)) these.insert(member.node.value());
  }
  if (these.empty()) return;
  Count("partitions");
  Trace("the network parts");
  const NodeId node(*these.begin());
  network_.Partition(std::move(these));
  After(Sometime(), [this] {
    Trace("the network heals");
    network_.Heal();
  });
  if (!random().Chance(0.4) || !MayCrash(node)) return;
  Count("declared lost while cut off");
  CrashNode(node, true);
}

// One direction between two nodes.
void RowSimulation::SlowDownOne() {
  if (p_.slow_link == 0 || p_.chain || p_.detour || p_.stale_marker || p_.comes_back) return;
  const auto any = [&] { return static_cast<Place>(1 + random().Below(nodes_.size())); };
  const Shard& shard = map_->shards[0];
  Place from = any(), to = any();
  if (p_.slow_backup) {
    from = shard.home.value();
    to = shard.backup.value();
  }
  if (p_.slow_spare) {
    from = Members(Role::kWorker).front().value();
    to = SpareServer().value();
    network_.SlowDown(shard.home.value(), to, p_.slow_link / 4);
  }
  network_.SlowDown(from, to, p_.slow_link);
}

Outcome RowSimulation::Simulate() {
  for (uint32_t i = 0; i < p_.servers; ++i) AddNode(Role::kServer);
  for (uint32_t i = 0; i < p_.workers; ++i) AddNode(Role::kWorker);
  if (p_.slow_map > 0) slow_map_ = NodeId(static_cast<uint32_t>(1 + random().Below(nodes_.size())));
  ShardMap map;
  map.version = MapVersion(1, 0);
  std::vector<NodeId> servers;
  for (const auto& [id, node] : nodes_) {
    map.members.push_back({.node = node->id, .role = node->role, .index = id, .address = "", .takes_rows = true});
    if (node->role == Role::kServer) servers.push_back(node->id);
  }
  map.shards = EvenShards(p_.shards, servers, p_.backups, map.version);
  map_ = std::make_shared<const ShardMap>(std::move(map));
  SlowDownOne();
  for (const auto& [id, node] : nodes_) Adopt(*node, *map_);
  Script();
  // An idle network has no events. The limit is far beyond what any run needs.
  const MonotonicTime limit = now() + FromMilliseconds(p_.span * 3 + p_.delay_max * 2000 + p_.pause * p_.pauses +
                                                       p_.slow_link * p_.delay_max * 500);
  Run(limit, [this] { return !violated(); });
  PullAgainWhatWasLost();
  const auto run_on = [&] { Run(now() + (limit - MonotonicTime{}), [this] { return !violated(); }); };
  run_on();
  if (p_.rounds > 0) {
    for (int i = 0; i < 2; ++i) {  // first what each has pushed, then what that has changed for the others
      RoundsWithAll(/*withdraw=*/false);
      run_on();
    }
    CheckCopiesAtWorkers();
  }
  CheckEnd();
  if (p_.rounds > 0) {
    RoundsWithAll(/*withdraw=*/true);
    run_on();
    CheckNoInterests();
  }
  for (const auto& [id, node] : nodes_) {
    const RowCounters& counters = node->rows->counters();
    Count("handovers", counters.rows_sent);
    Count("forwarded", counters.forwarded);
    Count("waited", counters.waited);
    Count("parked", counters.parked_pulls);
    Count("replicated", counters.replicated_keys);
    for (const auto& [peer, link] : node->links) Count("resent", link.resent());
  }
  return std::move(outcome());
}

}  // namespace attune::ps::simulation
