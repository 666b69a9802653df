// What is done to the job: processes die, are cut off, join and leave; servers are scaled; modes are switched.
#include <algorithm>
#include <utility>

#include "tests/simulation/job/simulation.h"

namespace attune::ps::simulation {

void JobSimulation::ScheduleChanges() {
  // Within the time a run takes at least: some happen in the middle of everything. A worker that learns of everything
  // late makes the run several times as long.
  const double item_milliseconds = parameters_.delay_milliseconds_max + 2;
  const double span = static_cast<double>(parameters_.items * parameters_.epochs) * item_milliseconds /
                      (parameters_.late_map_factor > 1 ? 0.5 : 2.0 * parameters_.workers);
  const auto times = [&](uint32_t count, auto change) {
    for (uint32_t i = 0; i < count; ++i) {
      After(FromMilliseconds(20 + random().Uniform() * span), [this, change] {
        if (!finished_) change();
      });
    }
  };
  times(parameters_.deaths, [this] { ChangeWorker(Fate::kDead); });
  times(parameters_.isolations, [this] { ChangeWorker(Fate::kLost); });
  times(parameters_.leaves, [this] { ChangeWorker(Fate::kLeft); });
  times(parameters_.joins, [this] { StartWorker(next_worker_index_++); });
  times(parameters_.server_deaths, [this] { KillServer(false); });
  times(parameters_.machine_losses, [this] { LoseMachine(); });
  times(parameters_.coordinator_deaths, [this] { KillServer(true); });
  times(parameters_.handovers, [this] { HandOver(UINT32_MAX); });
  times(parameters_.scalings, [this] { Scale(); });
  times(parameters_.partitions, [this] { Part(); });
  times(parameters_.links_cut, [this] { CutLink(); });
  times(parameters_.checkpoints, [this] {
    if (Leads() && leader_->core->map().formed()) Order(TakeCheckpoint{"checkpoints"});
  });
  times(parameters_.crash_of_all ? 1 : 0, [this] { CrashEverything(); });
  times(parameters_.switches, [this] {
    static constexpr const char* kModes[] = {"async", "bsp", "ssp:1", "ssp:3"};
    Count("switches");
    Order(SetSynchronization{*ParseSyncMode(kModes[random().Below(std::size(kModes))])});
  });
  times(parameters_.row_management_changes, [this] {
    Count("changes of row management");
    Order(SetRowManagement{random().Chance(0.5) ? RowManagement::kStatic : RowManagement::kAlways});
  });
  if (parameters_.slow_process_factor > 1) {
    network_.SlowDown(static_cast<Place>(1 + random().Below(2 * parameters_.servers + 2)),
                      parameters_.slow_process_factor);
  }
}

void JobSimulation::Order(Command command) {
  // The operator waits for a report of the new one. Ended processes are reported also to one that takes over.
  const bool takes_over = std::holds_alternative<NodeGone>(command) && leader_ != nullptr && leader_->alive;
  if (!Leads() && !takes_over) {
    return After(std::chrono::milliseconds(100), [this, command = std::move(command), life = life_] {
      if (!finished_ && life == life_) Order(command);
    });
  }
  constexpr Duration kTimeout = std::chrono::seconds(100);
  const CommandId id(next_command_++);
  commands_[id] = {now() + kTimeout, leader_};
  StepCoordinator(*leader_, FromOperator{.id = id, .command = std::move(command), .timeout = kTimeout});
}

void JobSimulation::ChangeWorker(Fate how) {
  std::vector<size_t> candidates;
  for (size_t i = 0; i < workers_.size(); ++i) {
    const bool works = workers_[i]->at == Worker::At::kWork || workers_[i]->at == Worker::At::kStep;
    if (workers_[i]->fate == Fate::kRunning && works) candidates.push_back(i);
  }
  if (candidates.empty()) return;
  const size_t victim = candidates[random().Below(candidates.size())];
  if (how == Fate::kLeft) {
    if (RunningWorkers() > 1) workers_[victim]->asked_to_leave = true;
  } else if (how == Fate::kLost) {  // runs on, is declared lost, learns it when it comes back, if the job still runs
    any_failure_ = true;
    BreakFromLeaders(WorkerPlace(victim), std::chrono::seconds(15));
  } else if (random().Chance(0.5)) {
    KillWorker(victim);
  } else {  // cut off from the servers first: it dies with pushes they have not got, while its heartbeats arrive
    for (size_t server = 0; server < servers_.size(); ++server) {
      Break(WorkerPlace(victim), ServerPlace(server), std::chrono::seconds(2));
    }
    After(std::chrono::milliseconds(500), [this, victim] { KillWorker(victim); });
  }
}

void JobSimulation::KillWorker(size_t worker) {
  if (workers_[worker]->fate != Fate::kRunning) return;
  Trace(Name(WorkerPlace(worker)) + " dies");
  EndWorker(*workers_[worker], Fate::kDead);
  BreakAll(WorkerPlace(worker), std::chrono::seconds(0));
}

// The newest map that a server has.
const ShardMap* JobSimulation::NewestMap() const {
  const ShardMap* newest = nullptr;
  for (const auto& server : servers_) {
    if (server->fate != Fate::kRunning) continue;
    const ShardMap& map = server->core->map();
    if (map.formed() && (newest == nullptr || map.version > newest->version)) newest = &map;
  }
  return newest;
}

std::vector<size_t> JobSimulation::ServersThatServe() const {
  std::vector<size_t> alive;
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i]->fate == Fate::kRunning && servers_[i]->core->node() != NodeId()) alive.push_back(i);
  }
  return alive;
}

// What was lost before is made up for, and all members know.
bool JobSimulation::AllRowsHaveTheirCopies() const {
  const ShardMap* map = NewestMap();
  if (!Leads() || map == nullptr || leader_->core->map().version != map->version) return false;
  const bool covered = parameters_.backups == 0 ||
                       std::ranges::all_of(map->shards, [](const Shard& shard) { return shard.backup != NodeId(); });
  const bool settled = std::ranges::all_of(ServersThatServe(), [&](size_t i) {
    return servers_[i]->core->map().version == map->version && servers_[i]->core->rows().Report().shards_not_ready == 0;
  });
  return covered && settled && !AnyDeadServerIsIn(*map);
}

// It is not known yet to be dead.
bool JobSimulation::AnyDeadServerIsIn(const ShardMap& map) const {
  return std::ranges::any_of(
      servers_, [&](const auto& server) { return server->taken_for_dead && map.Contains(server->core->node()); });
}

// One at a time, and only when what was lost before has its copies again. `host`: the one that the coordinator runs in.
void JobSimulation::KillServer(bool host) {
  if (finished_) return;
  const auto again = [this, host] { After(std::chrono::seconds(1), [this, host] { KillServer(host); }); };
  if (!Leads()) return again();
  const std::vector<size_t> alive = ServersThatServe();
  if (alive.size() < 3 || NewestMap() == nullptr) return;
  if (!AllRowsHaveTheirCopies()) return again();
  const size_t victim = host ? leader_->host : alive[random().Below(alive.size())];
  // The coordinator and its copy at once are the end of the job, and not of interest here.
  if (IsHost(victim) && !CopyIsSafe(victim)) return again();
  Count("server deaths");
  LoseServers({victim});
}

// In the middle of planned changes no machine has a row and its copy either, if none had when they began, and if the
// servers that stay are not all on one machine: then the changes bring all rows and all copies there.
void JobSimulation::WatchPlannedChanges(const Leader& leader) {
  if (!parameters_.lost_amid_change || &leader != leader_ || leader.taking_over) return;
  const ShardMap& map = leader.core->map();
  const auto machine_of = [&](NodeId node) { return map.Find(node)->machine; };
  const auto stays = [](const Member& member) { return member.role == Role::kServer && !member.leaving; };
  const auto first = std::ranges::find_if(map.members, stays);
  if (std::none_of(first, map.members.end(),
                   [&](const Member& other) { return stays(other) && other.machine != first->machine; })) {
    apart_at_rest_.reset();
  } else if (leader.core->settled()) {
    const auto apart = [&](const Shard& shard) {
      return shard.backup != NodeId() && machine_of(shard.home) != machine_of(shard.backup);
    };
    apart_at_rest_.reset();
    if (std::ranges::all_of(map.shards, apart)) apart_at_rest_ = map.recoveries;
  } else if (std::ranges::any_of(map.shards, &Shard::next_was_home) && !std::exchange(amid_change_, true)) {
    After(FromMilliseconds(random().Uniform() * 20), [this] { LoseMachine(); });
  }
}

bool JobSimulation::MayLoseMachine() const {
  if (!parameters_.lost_amid_change) return AllRowsHaveTheirCopies() && leader_->core->settled();
  const ShardMap& map = leader_->core->map();
  const auto has_copy = [](const Shard& shard) { return shard.backup != NodeId(); };
  return amid_change_ && apart_at_rest_ == map.recoveries && std::ranges::all_of(map.shards, has_copy) &&
         !AnyDeadServerIsIn(map);
}

// All that run on one machine at the same time. What has a copy has it on another one, so nothing may be lost.
void JobSimulation::LoseMachine() {
  if (finished_) return;
  const auto again = [this] { After(std::chrono::seconds(1), [this] { LoseMachine(); }); };
  if (!Leads()) return again();
  std::map<std::string, std::vector<size_t>> machines;
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i]->fate == Fate::kRunning) machines[servers_[i]->machine].push_back(i);
  }
  if (machines.size() < 2) return;
  if (!MayLoseMachine()) {
    if (!parameters_.lost_amid_change) again();
    return;
  }
  const auto lost = std::next(machines.begin(), static_cast<ptrdiff_t>(random().Below(machines.size())));
  const auto is_lost = [&](size_t server) { return servers_[server]->machine == lost->first; };
  if (is_lost(leader_->host) && (!CopyIsSafe(leader_->host) || is_lost(copy_.server))) return again();
  Count("machines lost");
  if (!leader_->core->settled()) Count("machines lost amid a change");
  apart_at_rest_.reset();
  if (lost->second.size() > 1) Count("machines lost with several servers");
  LoseServers(lost->second);
}

// At the same time. The platform may start others in their place.
void JobSimulation::LoseServers(const std::vector<size_t>& victims) {
  any_server_died_ = true;
  for (const size_t victim : victims) {
    const bool led = IsHost(victim);
    servers_[victim]->taken_for_dead = true;
    EndServer(victim, Fate::kDead);
    const uint32_t index = servers_[victim]->index;
    const NodeGone gone{Role::kServer, index, PodOfServer(victim)};
    if (led) {
      EndLeader(*leader_);
      After(FromMilliseconds(random().Uniform() * 1500), [this, gone, life = life_] {
        if (life == life_) Appoint(gone, UINT32_MAX);
      });
    }
    const bool replaced = random().Chance(0.5);
    // Of several the platform must notice some day: those that are left may be too few to know that none of them lives.
    const bool noticed = random().Chance(0.5);
    if (noticed || victims.size() > 1) {
      After(FromMilliseconds(random().Uniform() * (noticed ? 500 : 15000)), [this, gone, life = life_] {
        if (!finished_ && life == life_) Order(gone);
      });
    }
    After(FromMilliseconds(random().Uniform() * 15000), [this, index, replaced, life = life_] {
      if (replaced && life == life_) StartMissingServer(index);
    });
  }
}

// Another number of servers: new ones join, or some are drained.
void JobSimulation::Scale() {
  if (!Leads() || !leader_->core->map().formed() || any_server_died_) return;
  const auto least = std::max<uint32_t>(1, parameters_.server_deaths > 0 ? 3 : 1 + parameters_.backups);
  servers_wanted_ = least + static_cast<uint32_t>(random().Below(3));
  Count("scalings");
  OrderServers();
  for (uint32_t index = 0; index < servers_wanted_; ++index) {
    After(FromMilliseconds(random().Uniform() * 500), [this, index] { StartMissingServer(index); });
  }
}

// As the operator does it: the coordinator moves first when its server is to leave.
void JobSimulation::OrderServers() {
  const bool moves = MayMove() && Leads() && servers_[leader_->host]->index >= servers_wanted_;
  if (Leads() && !moves) return Order(SetServers{servers_wanted_});
  if (moves) HandOver(servers_wanted_);
  After(std::chrono::milliseconds(100), [this, life = life_] {
    if (!finished_ && life == life_) OrderServers();
  });
}

void JobSimulation::StartMissingServer(uint32_t index) {
  const bool there = std::ranges::any_of(
      servers_, [&](const auto& server) { return server->fate == Fate::kRunning && server->index == index; });
  if (!there && !finished_ && index < servers_wanted_) StartServer(index);
}

// Some processes reach the others no more, for less time than it takes to be declared lost.
void JobSimulation::Part() {
  std::set<Place> these;
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (random().Chance(0.3)) these.insert(ServerPlace(i));
  }
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (random().Chance(0.3)) these.insert(WorkerPlace(i));
  }
  if (these.empty()) return;
  Count("partitions");
  Trace("the network parts");
  network_.Partition(std::move(these));
  After(FromMilliseconds(random().Uniform() * 5000), [this] {
    Trace("the network heals");
    network_.Heal();
  });
}

// Two members do not reach each other any more, for a while or for good; the coordinator hears both. Which of them it
// gives up is its own choice.
void JobSimulation::CutLink() {
  if (finished_) return;
  const std::vector<size_t> servers = ServersThatServe();
  std::vector<Place> others;
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i]->fate == Fate::kRunning && workers_[i]->core->node() != NodeId()) others.push_back(WorkerPlace(i));
  }
  if (servers.empty() || others.empty() || !AllRowsHaveTheirCopies()) {
    return After(std::chrono::seconds(1), [this] { CutLink(); });
  }
  const size_t server = servers[random().Below(servers.size())];
  for (const size_t other : servers) {
    if (other != server && parameters_.backups > 0) others.push_back(ServerPlace(other));
  }
  const Place end = others[random().Below(others.size())];
  Count("links cut");
  Trace(Name(ServerPlace(server)) + " and " + Name(end) + " do not reach each other");
  any_failure_ = any_server_died_ = true;
  for (const Place place : {ServerPlace(server), end}) {
    if (IsServer(place)) servers_[IndexOf(place)]->may_be_given_up = true;
  }
  network_.Sever(ServerPlace(server), end);
  Break(ServerPlace(server), end, network_.Delay());
  if (random().Chance(0.5)) return;
  After(FromMilliseconds(random().Uniform() * 25000), [this, server, end] {
    Trace("they do again");
    network_.Mend(ServerPlace(server), end);
  });
}

// Of the coordinator that a job begins with.
CoordinatorOptions JobSimulation::FirstOptions() const {
  CoordinatorOptions options = NextOptions(1);
  options.servers = servers_wanted_;
  options.goal = {.epochs = parameters_.epochs};
  options.items = parameters_.items;
  options.lease_items = parameters_.lease_items;
  options.synchronization = *ParseSyncMode(parameters_.mode);
  options.backups = parameters_.backups;
  if (resumed_) {
    options.load = {.directory = "checkpoints", .checkpoint = checkpoints_};
    options.resume = checkpoint_->record;
  }
  return options;
}

void JobSimulation::StartJob() {
  CoordinatorOptions options = FirstOptions();
  if (MayMove()) options.host_index = 0;
  heard_.clear();
  confirmed_.reset();
  StartLeader(std::move(options), servers_.size());
  for (uint32_t i = 0; i < servers_wanted_; ++i) StartServer(i);
  for (uint32_t i = 0; i < parameters_.workers; ++i) {
    const uint32_t index = next_worker_index_++;
    After(FromMilliseconds(random().Uniform() * 30), [this, index, life = life_] {
      if (life == life_) StartWorker(index);
    });
  }
  ConfirmWhenWanted();
}

// The job is started again from its newest checkpoint, with any number of servers; what the checkpoint holds is all
// there is from then on.
void JobSimulation::CrashEverything() {
  if (finished_) return;
  if (!checkpoint_) return After(std::chrono::milliseconds(500), [this] { CrashEverything(); });
  Trace("everything crashes and begins again from the newest checkpoint");
  Count("resumed jobs");
  for (const auto& leader : leaders_) leader->alive = false;
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i]->fate != Fate::kRunning) continue;
    workers_[i]->fate = Fate::kDead;
    steps_.IsGone(i);
    BreakAll(WorkerPlace(i), std::chrono::seconds(1));
  }
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i]->fate == Fate::kRunning) EndServer(i, Fate::kDead);
  }
  resumed_ = true;
  BeginLife();
  ContinueFromCheckpoint();
  servers_wanted_ = 1 + parameters_.backups + static_cast<uint32_t>(random().Below(3));
  StartJob();
}

// What was there before is gone, and nothing of it counts.
void JobSimulation::BeginLife() {
  ++life_;
  first_server_ = servers_.size();
  first_leader_ = leaders_.size();
  any_failure_ = true;
  commands_.clear();
  places_.clear();
  to_coordinator_.clear();
  pushes_.clear();
  for (uint32_t table = 1; table <= kTables; ++table) {
    accounts_[table] = {};
    loaded_[table].clear();
  }
}

void JobSimulation::ContinueFromCheckpoint() {
  for (const auto& [key, row] : checkpoint_->rows) {
    for (uint32_t column = 0; column < kColumns; ++column) {
      if (row.values[column] == 0) continue;
      accounts_[key.first].issued[{key.second, column}] = row.values[column];
      accounts_[key.first].sure[{key.second, column}] = row.values[column];
      loaded_[key.first][{key.second, column}] = row.values[column];
    }
  }
  const CutRecord& record = checkpoint_->record;
  items_.BeginAgain([&](uint64_t epoch, uint64_t item) { return Contains(record, epoch, item); });
  ResumeClosing(record);
}

Outcome JobSimulation::Simulate() {
  servers_wanted_ = parameters_.servers;
  StartJob();
  ScheduleChanges();
  // Through a network that is so slow an item may take many seconds.
  const Duration longest = std::chrono::minutes(parameters_.delay_milliseconds_max > 100 ? 40 : 10);
  constexpr Duration kRest = std::chrono::seconds(10);  // lets the last rows arrive
  if (parameters_.IsHarsh()) {
    After(longest / 2, [this] {
      Trace("the network is good from now on");
      network_.Calm();
      network_.SlowNobody();
    });
  }
  Run(MonotonicTime{} + longest, [this] { return !violated() && !(finished_ && RunningWorkers() == 0); });
  // Or a row whose message is lost three times, or whose link was cut for good shortly before the end, does not arrive
  // within any rest.
  network_.Calm();
  network_.Heal();
  network_.MendAll();
  Run(now() + kRest, [this] { return !violated(); });
  CheckEnd();
  Count("simulated seconds", static_cast<uint64_t>(Time()));
  return std::move(outcome());
}

}  // namespace attune::ps::simulation
