// Coincidences that chance alone would have to wait for, each with a mistake that only it shows.
#include <algorithm>
#include <memory>
#include <utility>

#include "tests/simulation/rows/simulation.h"

namespace attune::ps::simulation {

// A row goes from one to the next before anybody has heard that it arrived; then the last one crashes with it. The
// first one hears of its arrival late.
void RowSimulation::Chain() {
  std::vector<NodeId> nodes;
  const Shard& shard = map_->shards[0];
  for (const Member& member : map_->members) {
    if (member.node != shard.home && member.node != shard.backup) nodes.push_back(member.node);
  }
  if (nodes.size() < 3) return;
  for (size_t i = nodes.size() - 1; i > 0; --i) std::swap(nodes[i], nodes[random().Below(i + 1)]);
  network_.SlowDown(nodes[1].value(), nodes[0].value(), p_.slow_link);
  // Or it goes to and fro, and orders wait for it where it comes by twice.
  const bool to_and_fro = random().Chance(0.5);
  const std::vector<NodeId> way = to_and_fro ? std::vector{nodes[1], nodes[0], nodes[1], nodes[0], nodes[2]}
                                             : std::vector{nodes[0], nodes[1], nodes[2]};
  Duration at{};
  for (const NodeId to : way) {
    After(at, [this, to] { LocalizeAt(map_->shards[0].home, TableId(1), {1}, to); });
    at += network_.Delay(to_and_fro ? 2 : 4);
  }
  if (to_and_fro) return;
  After(at + network_.Delay(3), [this, last = nodes[2]] { CrashNode(last, false); });
}

// One that serves nothing of the first shard, or the first one.
NodeId RowSimulation::SpareServer() const {
  const std::vector<NodeId> servers = Members(Role::kServer);
  const Shard& shard = map_->shards[0];
  const auto spare =
      std::ranges::find_if(servers, [&](NodeId server) { return server != shard.home && server != shard.backup; });
  return spare == servers.end() ? servers.front() : *spare;
}

// Planned changes of the first shard, when they are allowed; given up when that takes too long.
void RowSimulation::WhenQuiet(const std::function<void()>& then, int tries) {
  if (Quiet() && !draining_) return then();
  if (tries > 0) After(network_.Delay(2), [this, then, tries] { WhenQuiet(then, tries - 1); });
}

void RowSimulation::MoveFirstHome(NodeId to) {
  ShardMap next = *map_;
  next.version = next.version.Next();
  next.shards[0].home = to;
  next.shards[0].routing_since = next.version;
  Count("home moves");
  Publish(std::move(next), "a home moves");
}

void RowSimulation::BeginFirstJoin(NodeId next_backup) {
  ShardMap next = *map_;
  next.version = next.version.Next();
  next.shards[0].next_backup = next_backup;
  next.shards[0].join_id = next.version;
  Count("joins");
  Publish(std::move(next), "a backup joins");
}

// A row is on its way to a worker over a slow link while a backup joins, which everything else reaches soon.
void RowSimulation::Outrun() {
  const std::vector<NodeId> workers = Members(Role::kWorker);
  if (workers.empty()) return;
  const NodeId home = map_->shards[0].home, worker = workers.front();
  network_.SlowDown(home.value(), worker.value(), p_.slow_link);
  LocalizeAt(home, TableId(1), {1}, worker);
  const auto join = [this] {
    const NodeId spare = SpareServer();
    const Shard& shard = map_->shards[0];
    if (spare != shard.home && spare != shard.backup) BeginFirstJoin(spare);
  };
  After(network_.Delay(2), [this, join] { WhenQuiet(join, 5); });
}

// An order is slow, its home moves, and the new home's orders overtake it: the row must not skip the way in between.
void RowSimulation::Detour() {
  const std::vector<NodeId> workers = Members(Role::kWorker);
  const NodeId home = map_->shards[0].home, next_home = SpareServer();
  const auto move = [this](NodeId to) { LocalizeAt(map_->shards[0].home, TableId(1), {1}, to); };
  move(workers[0]);
  After(FromMilliseconds(4), [=, this] {
    network_.SlowDown(home.value(), workers[0].value(), p_.slow_link);
    move(workers[1]);
    WhenQuiet([=, this] {
      MoveFirstHome(next_home);
      After(FromMilliseconds(5), [=] { move(workers[0]); });
      After(FromMilliseconds(7), [=] { move(workers[2]); });
    });
  });
}

// A home moves away, further, and back, and its last but one orders a row away that has been at the first all the time:
// the directory comes back before that order does.
void RowSimulation::ComesBack() {
  const NodeId home = map_->shards[0].home;
  std::vector<NodeId> others = Members(Role::kServer);
  std::erase(others, home);
  const NodeId second = others.at(0), third = others.at(1);
  const auto back = [=, this] {
    MoveFirstHome(third);
    After(FromMilliseconds(1), [=, this] { WhenQuiet([=, this] { MoveFirstHome(home); }); });
  };
  const auto order = [=, this] {
    network_.SlowDown(second.value(), home.value(), p_.slow_link);
    LocalizeAt(second, TableId(1), {1}, Members(Role::kWorker).front());
    WhenQuiet(back);
  };
  MoveFirstHome(second);
  After(FromMilliseconds(1), [=, this] { WhenQuiet(order); });
}

// A server begins to be the next backup, does not become it, and begins again. Then a marker of the first time comes
// from a server that is the home by now, overtaking by much an order to pass a row on, which is not there yet. The row
// comes when all is done, is pushed to, and its new owner, who should keep the copy of it, crashes.
void RowSimulation::StaleMarker() {
  const std::vector<NodeId> servers = Members(Role::kServer), workers = Members(Role::kWorker);
  const Shard& shard = map_->shards[0];
  std::vector<NodeId> spare;
  std::ranges::copy_if(servers, std::back_inserter(spare),
                       [&](NodeId server) { return server != shard.home && server != shard.backup; });
  const NodeId next_home = spare.at(0), joiner = spare.at(1);
  const auto move = [this](NodeId to) { LocalizeAt(map_->shards[0].home, TableId(1), {1}, to); };
  const auto join_again = [=, this] {
    network_.SlowDown(next_home.value(), workers[0].value(), p_.slow_link / 4);
    network_.SlowDown(next_home.value(), joiner.value(), p_.slow_link * 2);
    move(joiner);
    move(workers[1]);
    BeginFirstJoin(joiner);
    push_to_ = joiner;
    for (uint32_t i = 0; i < p_.pushes; ++i) After(network_.Delay(p_.slow_link), [this] { IssuePush(); });
    After(network_.Delay(p_.slow_link * 2), [this, joiner] { CrashNode(joiner, false); });
  };
  move(workers[0]);
  network_.SlowDown(next_home.value(), joiner.value(), p_.slow_link / 4);
  const auto move_home = [=, this] {
    MoveFirstHome(next_home);
    After(FromMilliseconds(1), [=, this] { WhenQuiet(join_again); });
  };
  const auto join = [=, this] {
    BeginFirstJoin(joiner);
    CrashNode(workers[2], false);
    After(FromMilliseconds(5), [=, this] { WhenQuiet(move_home); });
  };
  After(FromMilliseconds(4), [=, this] { WhenQuiet(join); });
}

}  // namespace attune::ps::simulation
