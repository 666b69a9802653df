#include "tests/simulation/coordinator/simulation.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "tests/simulation/eager_relief.h"

namespace attune::ps::simulation {

// The copy is made at once; writing takes a while.
void CoordinatorSimulation::OnMark(size_t place, const Mark& mark) {
  Server& server = servers_[place];
  if (server.cut != mark.cut) {
    server.cut = mark.cut;
    leaders_[server.stream.leader]->cut.copied.insert(server.applied.begin(), server.applied.end());
  }
  SayServer(place, MarkDone{.cut = mark.cut});
}

void CoordinatorSimulation::OnWriteSnapshot(size_t place, CutId cut) {
  AfterAt(place, FromMilliseconds(random().Uniform() * 100), [this, place, cut] {
    if (servers_[place].alive) SayServer(place, SnapshotDone{.cut = cut, .status = OkStatus(), .files = {}});
  });
}

size_t CoordinatorSimulation::StartServer(uint32_t index) {
  Server server;
  server.index = index;
  server.incarnation = NewIncarnation(next_pod_++, 1);
  server.stream.leader = leaders_.size() - 1;
  if (parameters_.drift_max > 0) server.clock_rate += parameters_.drift_max * (2 * random().Uniform() - 1);
  servers_.push_back(std::move(server));
  const size_t place = servers_.size() - 1;
  After(network_.Delay(), [this, place] { Connect({true, place}); });
  AfterAt(place, std::chrono::milliseconds(200), [this, place] { ServerHeartbeat(place); });
  return place;
}

std::string CoordinatorSimulation::MachineOf(size_t place) const {
  if (parameters_.machines == 0) return "";
  return "machine-" + std::to_string(SplitMix64(parameters_.seed ^ (0x3ac41e00 + place)) % parameters_.machines);
}

void CoordinatorSimulation::SayJoin(size_t place) {
  const Server& server = servers_[place];
  SayServer(place, Join{.incarnation = server.incarnation,
                        .job_uid = kJob,
                        .role = Role::kServer,
                        .index = server.index,
                        .address = "127.0.0.1:" + std::to_string(7000 + place),
                        .machine = MachineOf(place),
                        .node = server.node,
                        .term = server.term});
}

// One without a number asks for it again: a coordinator that is taking over, or without the leader lease, gives none.
void CoordinatorSimulation::ServerHeartbeat(size_t place) {
  const Server& server = servers_[place];
  if (!server.alive || server.finished) return;
  if (server.node != NodeId()) {
    SayHeartbeat(place);
    Report(place);
    if (parameters_.eager_relief) ReportLoad(place);
  } else {
    SayJoin(place);
  }
  AfterAt(place, std::chrono::milliseconds(200), [this, place] { ServerHeartbeat(place); });
}

void CoordinatorSimulation::SayHeartbeat(size_t place) {
  Server& server = servers_[place];
  server.lease.Sent(++server.heartbeat, ClockOf(place));
  SayServer(place, Heartbeat{.number = server.heartbeat,
                             .map_version = server.map.version,
                             .leases = {},
                             .supports = server.support.number()});
}

void CoordinatorSimulation::Report(size_t place) {
  Server& server = servers_[place];
  RowsReport report{.number = ++server.report,
                    .map_version = server.map.version,
                    .shards_not_ready = server.not_ready,
                    .joins_done = {server.joins_done.begin(), server.joins_done.end()},
                    .rows_to_come = server.rows_to_come};
  const bool named =
      std::ranges::any_of(server.map.shards, [&](const Shard& shard) { return shard.home == server.node; });
  report.rows_held = named || server.rows_to_come > 0 ? 10 : 0;
  SayServer(place, std::move(report));
}

RebalanceRules CoordinatorSimulation::Rules() const {
  return parameters_.eager_relief ? EagerRelief() : RebalanceRules();
}

// Every five seconds other shards are asked for most.
void CoordinatorSimulation::ReportLoad(size_t place) {
  Server& server = servers_[place];
  LoadReport load{
      .number = ++server.load_report, .map_version = server.map.version, .lasted = std::chrono::milliseconds(200)};
  const auto era = static_cast<uint64_t>(now().time_since_epoch() / std::chrono::seconds(5));
  for (uint32_t i = 0; i < server.map.shard_count(); ++i) {
    const uint64_t keys = SplitMix64(parameters_.seed ^ (era << 32) ^ i) % 100;
    if (server.map.shards[i].home == server.node && keys > 0) load.shards.push_back({ShardId(i), keys * keys});
  }
  SayServer(place, std::move(load));
}

void CoordinatorSimulation::OnServer(size_t place, const Message& message) {
  Server& server = servers_[place];
  if (const auto* welcome = std::get_if<Welcome>(&message)) {
    server.node = welcome->node;
    server.support.OnQuestion(server.term, welcome->support.number, welcome->support.lasts, ClockOf(place));
    if (welcome->map.formed()) AdoptMap(place, welcome->map);
    SayHeartbeat(place);
  } else if (const auto* update = std::get_if<MapUpdate>(&message)) {
    AdoptMap(place, update->map);
  } else if (const auto* ack = std::get_if<HeartbeatAck>(&message)) {
    server.lease.Answered(ack->number, ack->liveness);
    server.support.OnQuestion(server.term, ack->support.number, ack->support.lasts, ClockOf(place));
  } else if (const auto* mirror = std::get_if<MirrorUpdate>(&message)) {
    if (!server.mirror || server.mirror->number < mirror->record.number) server.mirror = mirror->record;
    SayServer(place, MirrorAck{.number = mirror->record.number});
  } else if (const auto* promise = std::get_if<Promise>(&message)) {
    server.support.OnQuestion(server.term, promise->support.number, promise->support.lasts, ClockOf(place));
    SayServer(place, Promised{.map = server.map,
                              .standing = {.number = server.heartbeat,
                                           .map_version = server.map.version,
                                           .leases = {},
                                           .supports = server.support.number()},
                              .sync = {},
                              .tables = server.tables,
                              .mirror = server.mirror,
                              .supported_term = server.support.FormerTerm(ClockOf(place)),
                              .support_left = server.support.FormerLeft(ClockOf(place))});
  } else if (const auto* install = std::get_if<InstallTable>(&message)) {
    OnInstall(server, *install);
    SayServer(place, TableInstalled{.table = install->table, .status = OkStatus()});
  } else if (const auto* mark = std::get_if<Mark>(&message)) {
    OnMark(place, *mark);
  } else if (const auto* write = std::get_if<WriteSnapshot>(&message)) {
    OnWriteSnapshot(place, write->cut);
  } else if (std::holds_alternative<Finished>(message)) {
    server.finished = true;
    if (!finished_) {
      const bool named = !Shards([&](const Shard& shard) {
        return shard.home != server.node && shard.backup != server.node && shard.next_backup != server.node;
      });
      if (named) Violation("a server was released while shards lie on it");
      Break({true, place}, std::chrono::seconds(0));
      server.alive = false;
      // It may be wanted again since.
      After(FromMilliseconds(random().Uniform() * 500), [this, index = server.index] { StartMissingServer(index); });
    }
  } else if (std::holds_alternative<SessionLost>(message) || std::holds_alternative<JoinRefused>(message)) {
    any_failure_ = true;
    KillServer(place);
  }
}

// OneTable: an id means the same table at every server for ever.
void CoordinatorSimulation::OnInstall(Server& server, const InstallTable& install) {
  for (const InstallTable& table : server.tables) {
    if (table.table != install.table) continue;
    if (!(table.spec == install.spec)) Violation("OneTable: two tables with one number");
    return;
  }
  server.tables.push_back(install);
}

void CoordinatorSimulation::AdoptMap(size_t place, const ShardMap& map) {
  Server& server = servers_[place];
  if (map.version <= server.map.version || !map.Contains(server.node)) return;
  uint32_t changed = 0;
  bool joins = false;
  for (size_t i = 0; i < map.shards.size(); ++i) {
    const bool was_home = !server.map.formed() || server.map.shards[i].home == server.node;
    changed += map.shards[i].home == server.node && (!was_home || map.recovered_at != server.map.recovered_at) ? 1 : 0;
    joins = joins || map.shards[i].next_backup != NodeId();
  }
  if (!server.map.formed()) changed = 0;
  server.map = map;
  if (server.mirror && server.mirror->number < map.records_from) server.mirror.reset();
  server.support.OnMap(map.version.term());
  const uint64_t change = ++server.map_change;
  server.not_ready += changed;
  server.rows_to_come += changed;
  if (server.not_ready > 0) {
    AfterAt(place, FromMilliseconds(random().Uniform() * 50), [this, place] {
      servers_[place].not_ready = 0;
      if (servers_[place].alive) Report(place);
      AfterAt(place, FromMilliseconds(random().Uniform() * 100), [this, place] {
        servers_[place].rows_to_come = 0;
        if (servers_[place].alive) Report(place);
      });
    });
  }
  if (joins) {
    AfterAt(place, FromMilliseconds(random().Uniform() * 100), [this, place, change] {
      Server& late = servers_[place];
      if (!late.alive || late.map_change != change) return;
      for (const Shard& shard : late.map.shards) {
        if (shard.next_backup != NodeId()) late.joins_done.insert(shard.join_id);
      }
      Report(place);
    });
  }
  Report(place);
}

void CoordinatorSimulation::KillServer(size_t place) {
  Server& server = servers_[place];
  if (!server.alive) return;
  Trace("server " + std::to_string(server.index) + " dies");
  any_server_died_ = true;
  server.alive = false;
  network_.Resume(PlaceOf({true, place}));
  Break({true, place}, std::chrono::seconds(0));
  const uint32_t index = server.index;
  const NodeId node = server.node;
  const NodeGone gone{Role::kServer, index, PodOf(server.incarnation)};
  for (size_t leader = 0; leader < leaders_.size(); ++leader) {
    if (leaders_[leader]->host != place || !leaders_[leader]->alive) continue;
    EndLeader(leader);
    if (leader + 1 < leaders_.size()) continue;
    appointing_ = true;
    if (!Chief().map().formed()) continue;
    After(FromMilliseconds(random().Uniform() * 1500), [this, gone] { Appoint({gone}, UINT32_MAX); });
  }
  for (size_t worker = 0; node != NodeId() && worker < workers_.size(); ++worker) {
    if (workers_[worker]->alive) StepWorker(worker, PeerDisconnected{.peer = node});
  }
  // The platform notices, early or late. Without its word a coordinator that hears no other server waits for ever.
  const bool early = random().Chance(0.5);
  After(early ? FromMilliseconds(random().Uniform() * 500) : std::chrono::seconds(12), [this, gone] { Order(gone); });
  After(FromMilliseconds(random().Uniform() * 4000), [this, index] { StartMissingServer(index); });
}

bool CoordinatorSimulation::HasServer(uint32_t index) const {
  return std::ranges::any_of(servers_, [&](const Server& server) { return server.alive && server.index == index; });
}

// Numbers begin again when a job does: one that died before may have had the same.
std::optional<size_t> CoordinatorSimulation::LiveServer(NodeId node) const {
  const auto found =
      std::ranges::find_if(servers_, [&](const Server& server) { return server.alive && server.node == node; });
  if (found == servers_.end()) return std::nullopt;
  return static_cast<size_t>(found - servers_.begin());
}

// The platform runs one process of an index at a time.
void CoordinatorSimulation::StartMissingServer(uint32_t index) {
  if (finished_ || index >= servers_wanted_ || HasServer(index)) return;
  const bool coordinators = index == servers_[leaders_[chief_]->host].index && !leaders_[chief_]->alive;
  if (coordinators && !Chief().map().formed()) return BeginAnew();
  StartServer(index);
}

}  // namespace attune::ps::simulation
