// The processes of the job: every step of a core, and what its outputs ask of the world.
#include <algorithm>
#include <functional>
#include <utility>

#include "tests/simulation/job/simulation.h"

namespace attune::ps::simulation {

void JobSimulation::StepCoordinator(Leader& leader, CoordinatorInput input) {
  if (!leader.alive) return;
  CoordinatorOutputs out;
  CoordinatorCore& core = *leader.core;
  core.Step(std::move(input), now(), out);
  for (const std::string& event : out.events) {
    Trace("event: " + event);
    if (event.ends_with("it is given up")) Count("members given up");
  }
  for (const RejectedMessage& rejected : out.rejected) {
    Violation("Checked: the coordinator rejects a message: " + rejected.why);
  }
  if (leader.taking_over && !core.progress().taking_over) {
    leader.taking_over = false;
    if (leader.term > 1) Count("takeovers");
  }
  NoteReleased(leader);
  WatchPlannedChanges(leader);
  for (ToConnection& message : out.send) {
    const auto it = to_coordinator_.find(message.to);
    if (it == to_coordinator_.end()) continue;
    Carry(leader.place, it->second.first, std::move(message.message));
  }
  for (const ConnectionId connection : out.close) {
    const auto it = to_coordinator_.find(connection);
    if (it == to_coordinator_.end()) continue;
    Count("connections closed");
    Break(Place(it->second.first), leader.place, network_.Delay());
  }
  if (out.superseded) {
    if (&leader == leader_) Violation("a coordinator ended although no other one was appointed");
    return EndLeader(leader);
  }
  const bool leads = !leader.taking_over && (&leader == leader_ || !Leads()) && core.map().formed();
  for (size_t i = 0; i < workers_.size() && leads; ++i) {
    const NodeId node = workers_[i]->core->node();
    if (node != NodeId() && !core.map().Contains(node)) steps_.IsGone(i);
  }
  OnCoordinatorsOrders(leader, out);
  if (out.failed && !IsReleased()) Violation("the job failed: " + attune::ToString(*out.failed));
  if (out.finished && !finished_ && !IsReleased()) {
    finished_ = true;
    finisher_ = &leader;
    CheckClosingIsDone();
  }
  WakeAt(leader.wake, core.WakeAt(), [this, &leader] { StepCoordinator(leader, CoordinatorTimer{}); });
}

// Whether those that were drained hear so or not.
void JobSimulation::NoteReleased(Leader& leader) {
  const ShardMap& map = leader.core->map();
  if (map.version == leader.looked_at) return;
  leader.looked_at = map.version;
  for (const NodeId node : std::exchange(leader.leaving, {})) {
    const auto place = places_.find(node);
    if (!map.Contains(node) && place != places_.end()) servers_[IndexOf(place->second)]->released = true;
  }
  for (const Member& member : map.members) {
    if (member.leaving && member.role == Role::kServer) leader.leaving.push_back(member.node);
  }
}

void JobSimulation::OnCoordinatorsOrders(Leader& leader, CoordinatorOutputs& out) {
  for (const CommandResult& result : out.command_results) {
    Trace("command " + std::to_string(result.id.value()) + ": " + attune::ToString(result.status) + " " + result.text);
    if (OnCommandResult(result)) continue;
    const auto it = commands_.find(result.id);
    if (it == commands_.end()) {
      Violation("EveryCallEnds: a command was answered twice");
      continue;
    }
    if (now() > it->second.until + std::chrono::seconds(1)) Violation("EveryCallEnds: a command ended after its time");
    commands_.erase(it);
  }
  if (out.begin_checkpoint) {
    const CutId cut = out.begin_checkpoint->cut;
    After(std::chrono::milliseconds(3), [this, cut, &leader, checkpoint = ++checkpoints_] {
      StepCoordinator(leader, CheckpointBegun{.cut = cut, .status = OkStatus(), .checkpoint = checkpoint});
    });
  }
  if (out.commit_checkpoint) {
    After(std::chrono::milliseconds(3), [this, &leader, order = *out.commit_checkpoint] {
      if (leader.alive) Commit(leader, order);
    });
  }
}

// The manifest comes last; without it there is no checkpoint.
void JobSimulation::Commit(Leader& leader, const CheckpointCommit& order) {
  if (random().Chance(parameters_.full_disk_chance)) {
    Count("full disks");
    return StepCoordinator(
        leader,
        CheckpointCommitted{.cut = order.cut, .status = Error(StatusCode::kResourceExhausted, "the disk is full")});
  }
  if (order.record.data_sets.empty()) {
    CheckManifest(order);
  } else {
    Checkpoint checkpoint{.record = order.record, .rows = {}};
    for (const CutFile& file : order.files) {
      for (const auto& [key, row] : files_.at(file.name)) {
        const auto [it, is_new] = checkpoint.rows.try_emplace(key, row);
        if (!is_new && it->second.version < row.version) it->second = row;
      }
    }
    Count("checkpoints");
    CheckCut(checkpoint, leader.core->map());
    checkpoint.life = life_;
    checkpoint_ = taken_[order.checkpoint] = std::move(checkpoint);
    leader.written = order.checkpoint;
  }
  StepCoordinator(leader, CheckpointCommitted{.cut = order.cut, .status = OkStatus()});
}

// Some time later; the rows are those of the mark all the same.
void JobSimulation::WriteSnapshot(size_t index, const SnapshotOrder& order) {
  After(FromMilliseconds(random().Uniform() * 20),
        [this, index, cut = order.cut, checkpoint = order.checkpoint, part = order.part] {
          Server& server = *servers_[index];
          if (server.fate != Fate::kRunning) return;
          SnapshotWritten written{.cut = cut, .status = OkStatus(), .files = {}};
          if (server.called_off == cut) {
            written.status = Error(StatusCode::kCancelled, "called off");
          } else if (random().Chance(parameters_.full_disk_chance)) {
            Count("full disks");
            written.status = Error(StatusCode::kResourceExhausted, "the disk is full");
          } else {
            const std::string name = std::to_string(checkpoint) + "-" + std::to_string(part);
            RowsOfTables& file = files_[name];
            for (const auto& table : server.core->rows().tables()) {
              if (table == nullptr) continue;
              const auto number = static_cast<uint32_t>(&table - server.core->rows().tables().data() + 1);
              while (table->NextRows(1000, [&](const RowView& row, bool) {
                file[{number, row.key}] = {.version = row.version,
                                           .move_number = 0,
                                           .values = {row.values.begin(), row.values.end()},
                                           .state = {row.state.begin(), row.state.end()}};
              })) {
              }
            }
            written.files.push_back({.table = TableId(1), .name = name});
          }
          StepServer(index, std::move(written));
        });
}

void JobSimulation::StepServer(size_t index, ServerInput input) {
  Server& server = *servers_[index];
  if (server.fate != Fate::kRunning) return;
  ServerOutputs out;
  server.core->Step(std::move(input), now(), out);
  if (server.core->node() != NodeId()) places_[server.core->node()] = ServerPlace(index);
  for (Outgoing& message : out.send) {
    if (const auto to = PlaceOf(ServerPlace(index), message.to)) {
      Carry(ServerPlace(index), *to, std::move(message.message), message.link);
    }
  }
  if (out.write_snapshot) {
    server.writing = out.write_snapshot->cut;
    WriteSnapshot(index, *out.write_snapshot);
  }
  if (out.coordinator) Hears(ServerPlace(index), out.coordinator->term);
  if (out.call_off_snapshot) server.called_off = server.writing;
  for (const Member& member : out.connect) {
    if (member.node <= server.core->node()) continue;
    After(network_.Delay(), [this, index, node = member.node] { OpenTo(ServerPlace(index), node); });
  }
  for (const NodeId node : out.disconnect) {
    After(Duration(0), [this, index, node] { Disconnect(ServerPlace(index), node); });
  }
  for (LoadOrder& order : out.load) Load(index, std::move(order));
  // Of a finished job whose servers end one after the other, the last one may take over without the others' copies.
  if (!out.restore.empty() && !finished_ && !IsReleased()) Violation("rows were lost although they had copies");
  if (out.finished) return EndServer(index, Fate::kLeft);
  for (const RejectedMessage& rejected : out.rejected) {
    Violation("Checked: " + Name(ServerPlace(index)) + " rejects a message: " + rejected.why);
  }
  if (out.lost) {
    Trace(Name(ServerPlace(index)) + " ends: " + attune::ToString(*out.lost));
    if (!MayBeLost(index)) Violation("a server was lost: " + attune::ToString(*out.lost));
    if (server.may_be_given_up) {
      server.taken_for_dead = true;
      After(FromMilliseconds(random().Uniform() * 5000), [this, number = server.index, life = life_] {
        if (life == life_) StartMissingServer(number);
      });
    }
    return EndServer(index, Fate::kLost);
  }
  WakeAt(server.wake, server.core->WakeAt(), [this, index] { StepServer(index, Timer{}); });
}

bool JobSimulation::MayBeLost(size_t index) {
  const Server& server = *servers_[index];
  // One that was released under a coordinator before, and has missed the word, ends as it should: the next one knows it
  // not.
  return server.taken_for_dead || server.may_be_given_up || server.released;
}

void JobSimulation::StepWorker(size_t index, WorkerInput input) {
  Worker& worker = *workers_[index];
  if (worker.fate == Fate::kDead) return;
  WorkerOutputs out;
  worker.core->Step(std::move(input), now(), out);
  const bool runs = worker.fate == Fate::kRunning;  // NodeIds are given again when everything has crashed
  if (runs && worker.core->node() != NodeId()) places_[worker.core->node()] = WorkerPlace(index);
  for (Outgoing& message : out.send) {
    if (const auto to = PlaceOf(WorkerPlace(index), message.to)) {
      Carry(WorkerPlace(index), *to, std::move(message.message), message.link);
    }
  }
  for (const Member& member : out.connect) {
    After(network_.Delay(), [this, index, node = member.node] { OpenTo(WorkerPlace(index), node); });
  }
  for (const NodeId node : out.disconnect) {
    After(Duration(0), [this, index, node] { Disconnect(WorkerPlace(index), node); });
  }
  if (out.coordinator) Hears(WorkerPlace(index), out.coordinator->term);
  for (const RejectedMessage& rejected : out.rejected) {
    Violation("Checked: " + Name(WorkerPlace(index)) + " rejects a message: " + rejected.why);
  }
  if (out.lost && worker.fate == Fate::kRunning) {
    Trace(Name(WorkerPlace(index)) + " ends: " + attune::ToString(*out.lost));
    EndWorker(worker, Fate::kLost);
  }
  for (const RevokeRows& revoke : out.revoke) {
    Count("places revoked");
    After(FromMilliseconds(random().Uniform() * 2), [this, index, revoke] {  // a shell that is slow
      Revoke(revoke.rows);
      StepWorker(index, RowsRevoked{revoke.request});
    });
  }
  NoteSettled(worker);
  for (const Completion& completion : out.completions) {
    Digest(completion.call.value() * 31 + static_cast<uint64_t>(completion.status.code()));
    Completed(index, completion);
  }
  WakeAt(worker.wake, worker.core->WakeAt(), [this, index] { StepWorker(index, Timer{}); });
}

std::function<StatusOr<std::unique_ptr<TableStore>>(const TableSpec&)> JobSimulation::MakeStore(bool exclusive) {
  return [this, exclusive](const TableSpec& spec) -> StatusOr<std::unique_ptr<TableStore>> {
    constexpr float kAnyNumber = 1e9F;
    return std::make_unique<CountingStore>(spec, exclusive, kAnyNumber,
                                           [this](const std::string& text) { Violation(text); });
  };
}

// Some time later; meanwhile others may be lost.
void JobSimulation::Load(size_t index, LoadOrder order) {
  After(FromMilliseconds(random().Uniform() * 300), [this, index, life = life_, order = std::move(order)] {
    if (life != life_) return;
    LoadedTable table;
    const uint32_t shards = servers_[index]->core->map().shard_count();
    table.rows = RowsOfCheckpoint(order.install.spec, order.homes, shards, true);
    table.copies = RowsOfCheckpoint(order.install.spec, order.backups, shards, false);
    StepServer(index, TableLoaded{.order = order, .status = OkStatus(), .table = std::move(table)});
  });
}

std::unique_ptr<TableStore> JobSimulation::RowsOfCheckpoint(const TableSpec& spec, const std::vector<ShardId>& shards,
                                                            uint32_t shard_count, bool exclusive) {
  std::unique_ptr<TableStore> store = *MakeStore(exclusive)(spec);
  const uint32_t table = spec.name == "rows" ? 1 : 2;
  for (const auto& [key, row] : checkpoint_->rows) {
    if (key.first != table) continue;
    const ShardId shard(ShardMap::ShardIndex(key.second, shard_count));
    if (std::ranges::find(shards, shard) == shards.end()) continue;
    const RowView view{.key = key.second,
                       .version = RowVersion(0, row.version.counter()),  // a new job has had no recoveries
                       .values = row.values,
                       .state = row.state};
    (void)store->Insert(std::span(&view, 1));
    Count("rows loaded");
  }
  return store;
}

size_t JobSimulation::StartServer(uint32_t index) {
  auto server = std::make_unique<Server>();
  server->index = index;
  if (parameters_.machines > 0) {
    const uint64_t drawn = SplitMix64(parameters_.seed ^ (0x3ac41e00 + servers_.size()));
    server->machine = "machine-" + std::to_string(drawn % parameters_.machines);
  }
  server->core =
      std::make_unique<ServerCore>(ServerOptions{.job_uid = kJob,
                                                 .incarnation = NewIncarnation(PodOfServer(servers_.size()), 1),
                                                 .index = index,
                                                 .address = "server-" + std::to_string(servers_.size()),
                                                 .machine = server->machine,
                                                 .create_store = MakeStore(true),
                                                 .create_copies = MakeStore(false),
                                                 .link = {.window = 8},  // what a break loses comes again
                                                 .mutations = mutations_});
  servers_.push_back(std::move(server));
  const size_t place = servers_.size() - 1;
  After(FromMilliseconds(random().Uniform() * 20), [this, place] { OpenToLeader(ServerPlace(place)); });
  return place;
}

void JobSimulation::EndServer(size_t server, Fate fate) {
  Trace(Name(ServerPlace(server)) + (fate == Fate::kDead ? " dies" : " ends"));
  servers_[server]->fate = fate;
  BreakAll(ServerPlace(server), std::chrono::seconds(1));
  OnServerEnded(server);
}

size_t JobSimulation::StartWorker(uint32_t index) {
  auto worker = std::make_unique<Worker>();
  worker->process = static_cast<uint32_t>(workers_.size());
  worker->index = index;
  worker->core = std::make_unique<WorkerCore>(WorkerOptions{.job_uid = kJob,
                                                            .incarnation = IncarnationOfWorker(workers_.size()),
                                                            .index = index,
                                                            .address = "worker-" + std::to_string(workers_.size()),
                                                            .pushes_in_flight_max = parameters_.pushes_in_flight_max,
                                                            .keys_per_message_max = parameters_.keys_per_message_max,
                                                            .reissue_after = std::chrono::milliseconds(300),
                                                            .reissue_after_max = std::chrono::seconds(2),
                                                            .heartbeat_interval = std::chrono::milliseconds(200),
                                                            .create_store = MakeStore(true),
                                                            .row_bytes_max = RowBytesOfWorker(),
                                                            .locations_max = 16,
                                                            .link = {.window = 8},
                                                            .mutations = mutations_});
  workers_.push_back(std::move(worker));
  const size_t place = workers_.size() - 1;
  steps_.Joins(place, workers_[place]->core.get());
  Ask(place, Worker::At::kJoin);
  After(network_.Delay(), [this, place] { OpenToLeader(WorkerPlace(place)); });
  return place;
}

uint64_t JobSimulation::RowBytesOfWorker() const {
  constexpr uint64_t kRowBytes = kColumns * sizeof(float) + 32;  // as the core counts them
  return parameters_.rows_per_worker_max == 0 ? ~uint64_t{0} : parameters_.rows_per_worker_max * kRowBytes;
}

void JobSimulation::EndWorker(Worker& worker, Fate fate) {
  worker.fate = fate;
  if (fate == Fate::kLeft && worker.core->rows().own().rows().Report().rows_held > 0) {
    Violation("OneOwner: " + Name(WorkerPlace(worker.process)) + " left and took rows with it");
  }
  steps_.IsGone(worker.process);
  const bool failed = fate == Fate::kDead || fate == Fate::kLost;
  any_failure_ = any_failure_ || failed;
  if (failed) Count("lost workers");
  any_owner_died_ = any_owner_died_ || (failed && parameters_.localize_chance > 0);
  for (uint32_t table = 1; table <= kTables && !failed; ++table) {  // everything a clean leaver issued is in the rows
    for (const auto& [key, sum] : worker.own[table]) {
      accounts_[table].sure[{key, worker.column()}] += sum - worker.counted[table][key];
    }
  }
  OnWorkerEnded(worker, failed);
}

// What the platform would do: start a failed worker again.
void JobSimulation::OnWorkerEnded(const Worker& worker, bool failed) {
  const bool again = failed && random().Chance(0.5);
  After(std::chrono::seconds(1), [this, index = worker.index, again] {
    if (!finished_ && (again || RunningWorkers() == 0)) StartWorker(index);
  });
}

size_t JobSimulation::RunningWorkers() const {
  return static_cast<size_t>(
      std::ranges::count_if(workers_, [](const auto& worker) { return worker->fate == Fate::kRunning; }));
}

}  // namespace attune::ps::simulation
