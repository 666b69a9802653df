#include "tests/simulation/coordinator/simulation.h"

#include <algorithm>
#include <utility>

namespace attune::ps::simulation {

void CoordinatorSimulation::Order(Command command) {
  if (finished_) return;
  if (!Settled() && (!std::holds_alternative<NodeGone>(command) || !leaders_.back()->alive)) {
    // The operator waits for a report of the new one.
    return After(std::chrono::milliseconds(100), [this, command] { Order(command); });
  }
  const CommandId id(next_command_++);
  commands_[id] = {now() + kCallTimeout, leaders_.size() - 1};
  if (const auto* scaling = std::get_if<SetServers>(&command)) scalings_.emplace(id, scaling->servers);
  if (const auto* gone = std::get_if<NodeGone>(&command)) words_.emplace(id, *gone);
  StepCoordinator(leaders_.size() - 1, FromOperator{.id = id, .command = std::move(command), .timeout = kCallTimeout});
}

// As the operator does it: the coordinator moves first when its server is to leave.
void CoordinatorSimulation::Scale() {
  if (finished_) return;
  const auto again = [this] { After(std::chrono::milliseconds(100), [this] { Scale(); }); };
  if (!Settled() || !Chief().map().formed()) return again();
  if (servers_[leaders_[chief_]->host].index >= servers_wanted_) {
    Appoint({}, servers_wanted_);
    return again();
  }
  Order(SetServers{servers_wanted_});
}

void CoordinatorSimulation::ScheduleChanges() {
  const auto some_time = [&] { return FromMilliseconds(random().Uniform() * 3000); };
  static constexpr const char* kModes[] = {"async", "bsp", "ssp:1", "ssp:3"};
  for (uint32_t i = 0; i < parameters_.switches; ++i) {
    After(some_time(), [this] {
      Count("switches");
      Order(SetSynchronization{*ParseSyncMode(kModes[random().Below(4)])});
    });
  }
  const auto any_worker = [this](auto action) {
    std::vector<size_t> places;
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i]->alive && workers_[i]->at != Worker::At::kJoin) places.push_back(i);
    }
    if (!places.empty()) action(places[random().Below(places.size())]);
  };
  for (uint32_t i = 0; i < parameters_.worker_deaths; ++i) {
    After(some_time(), [this, any_worker] { any_worker([&](size_t place) { KillWorker(place); }); });
  }
  for (uint32_t i = 0; i < parameters_.leaves; ++i) {
    After(some_time(), [this, any_worker] {
      if (Running() > 1) any_worker([&](size_t place) { workers_[place]->asked_to_leave = true; });
    });
  }
  for (uint32_t i = 0; i < parameters_.worker_joins; ++i) {
    After(some_time(), [this] {
      if (!finished_) StartWorker(next_worker_index_++);
    });
  }
  for (uint32_t i = 0; i < parameters_.server_deaths; ++i) {
    After(some_time(), [this] {
      std::vector<size_t> places;
      for (size_t place = 0; place < servers_.size(); ++place) {
        if (servers_[place].alive && servers_[place].node != NodeId()) places.push_back(place);
      }
      if (places.empty() || finished_ || any_stopped_ || !Settled()) return;
      const size_t place = places[random().Below(places.size())];
      if (place == leaders_[chief_]->host && !CopyIsSafe(place)) return;
      any_failure_ = true;
      KillServer(place);
    });
  }
  for (uint32_t i = 0; i < parameters_.coordinator_deaths; ++i) {
    After(some_time(), [this] { CrashCoordinator(random().Chance(0.7)); });
  }
  if (parameters_.early_death) {
    After(network_.Delay(3), [this] {
      if (Chief().map().formed()) return;
      any_failure_ = true;
      KillServer(leaders_[chief_]->host);
    });
  }
  for (uint32_t i = 0; i < parameters_.handovers; ++i) {
    After(some_time(), [this] {
      if (!finished_ && Settled() && Chief().map().formed()) Appoint({}, UINT32_MAX);
    });
  }
  for (uint32_t i = 0; i < parameters_.stops; ++i) After(some_time(), [this] { StopProcess(); });
  for (uint32_t i = 0; i < parameters_.checkpoints; ++i) {
    After(some_time(), [this] {
      if (Settled() && Chief().map().formed()) Order(TakeCheckpoint{"checkpoints"});
    });
  }
  for (uint32_t i = 0; i < parameters_.scalings; ++i) {
    After(some_time(), [this] {
      if (finished_ || !Settled() || !Chief().map().formed()) return;
      for (const auto& [id, asked] : commands_) {
        if (asked.until > now()) return;  // one scaling at a time: the checker knows what is wanted
      }
      servers_wanted_ = static_cast<uint32_t>(1 + random().Below(4));
      Scale();
      for (uint32_t index = 0; index < servers_wanted_; ++index) {
        if (HasServer(index)) continue;
        After(FromMilliseconds(random().Uniform() * 500), [this, index] { StartMissingServer(index); });
      }
    });
  }
}

Outcome CoordinatorSimulation::Simulate() {
  servers_wanted_ = parameters_.servers;
  first_options_ = {.job_uid = kJob,
                    .servers = parameters_.servers,
                    .shards = parameters_.shards,
                    .goal = {.epochs = parameters_.epochs},
                    .items = parameters_.items,
                    .lease_items = parameters_.lease_items,
                    .synchronization = *ParseSyncMode(parameters_.mode),
                    .backups = parameters_.backups,
                    .liveness_lease = std::chrono::seconds(2),
                    .leader_lease = std::chrono::seconds(3),
                    .uncovered_timeout = std::chrono::seconds(4),
                    .shard_changes_max = 4,
                    .row_changes_max = 0,
                    .host_index = 0,
                    .rebalance = Rules(),
                    .mutations = mutations_};
  first_options_.goal.best_checkpoint = BestCheckpointRule{kHeldOut, false, "checkpoints"};
  StartLeader(first_options_, 0);
  for (uint32_t i = 0; i < parameters_.servers; ++i) StartServer(i);
  for (uint32_t i = 0; i < parameters_.workers; ++i) StartWorker(next_worker_index_++);
  ScheduleChanges();
  ConfirmWhenWanted();
  constexpr Duration kLongest = std::chrono::seconds(600);  // many small leases, each over slow streams
  Run(MonotonicTime{} + kLongest, [this] { return !violated() && !(finished_ && commands_.empty()); });
  CheckEnd();
  return std::move(outcome());
}

}  // namespace attune::ps::simulation
