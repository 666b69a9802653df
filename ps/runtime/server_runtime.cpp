#include "ps/runtime/server_runtime.h"

#include <algorithm>

#include "base/log.h"
#include "base/random_seed.h"
#include "proto/contract.h"
#include "ps/runtime/abilities.h"
#include "ps/runtime/memory_limit.h"

namespace attune::ps {

StatusOr<std::unique_ptr<ServerRuntime>> ServerRuntime::Start(const Options& options, const TimeSource& time) {
  std::unique_ptr<ServerRuntime> runtime(new ServerRuntime(options, time));
  RETURN_IF_ERROR(runtime->Open());
  return runtime;
}

ServerRuntime::ServerRuntime(const Options& options, const TimeSource& time)
    : options_(options),
      time_(time),
      memory_(options.table_bytes_max > 0 ? options.table_bytes_max : MemoryForTables(AvailableMemory())),
      reported_at_(time.Now()) {}

ServerRuntime::~ServerRuntime() {
  reporter_.reset();  // sends the last window
  if (checkpoints_ != nullptr) checkpoints_->Cancel();
  if (loop_ != nullptr) loop_->Stop();  // no step uses what goes now
  coordinator_.reset();                 // sends what is queued
  transport_.reset();
  checkpoints_.reset();
  timer_.reset();
  loop_.reset();
}

// The data port is bound before the coordinator hears of this server, because the address is part of the Join.
Status ServerRuntime::Open() {
  checkpoints_ = std::make_unique<CheckpointIo>(
      time_, CheckpointIo::Options{.job_uid = options_.job_uid,
                                   .bytes_per_second = options_.checkpoint_bytes_per_second,
                                   .memory_budget = &memory_,
                                   .post = [this](std::function<void()> task) {
                                     loop_->Post([this, task = std::move(task)] {
                                       std::lock_guard lock(mutex_);  // telemetry looks at the tables too
                                       task();
                                     });
                                   }});
  if (!options_.load_directory.empty()) {
    RETURN_IF_ERROR(checkpoints_->Open(options_.load_directory, options_.load_checkpoint));
  }
  const ControlSecurity security{
      .job_uid = options_.job_uid, .token = options_.token, .tls_directory = options_.tls_directory};
  coordinator_address_ = options_.coordinator;
  if (options_.coordinator_here) {
    CoordinatorRuntime::Options coordinator = *options_.coordinator_here;
    coordinator.security = security;
    ASSIGN_OR_RETURN(coordinator_runtime_, CoordinatorRuntime::Start(coordinator, time_));
    coordinator_address_ = coordinator_runtime_->address();
  }
  loop_ = EventLoop::Start("attune-server", time_);
  timer_ = loop_->NewTimer();
  Transport::Events events;
  events.on_linked_message = [this](NodeId from, const LinkHeader& link, Message message) {
    Step(Received{.from = from, .message = std::move(message), .link = link});
  };
  events.on_connected = [this](NodeId peer) { Step(PeerConnected{peer}); };
  events.on_disconnected = [this](NodeId peer, const Status& reason) {
    log::Debug("a worker's link ended", {{"node", peer.value()}, {"reason", reason}});
    Step(PeerDisconnected{peer});
  };
  ASSIGN_OR_RETURN(transport_, TcpTransport::Create({.job_uid = options_.job_uid,
                                                     .self = {},
                                                     .bind_address = options_.bind_address,
                                                     .port = options_.port,
                                                     .seed = RandomSeed(),
                                                     .token = options_.token,
                                                     .tls_directory = options_.tls_directory,
                                                     .shared_memory = options_.shared_memory},
                                                    *loop_, std::move(events)));
  // Steps begin with this mutex, so the first one, which the connection brings at once, sees all of it in place.
  std::lock_guard lock(mutex_);
  core_ = std::make_unique<ServerCore>(CoreOptions());
  coordinator_ =
      CoordinatorClient::Start(coordinator_address_, *loop_,
                               {.on_connected = [this] { Step(PeerConnected{kCoordinator}); },
                                .on_disconnected = [this](const Status&) { Step(PeerDisconnected{kCoordinator}); },
                                .on_message =
                                    [this](Message message) {
                                      if (!LoadBefore(message)) Step(Received{kCoordinator, std::move(message)});
                                    }},
                               security);
  reporter_ = Reporter::Start(
      {.socket_path = options_.sidecar_socket,
       .job_uid = options_.job_uid,
       .role = contract::kRoleServer,
       .index = options_.index},
      time_,
      {.take_window = [this](MonotonicTime now) { return TakeWindow(now); },
       .drain =
           [](const std::string&) {
             return Error(StatusCode::kUnimplemented, "a server cannot leave a running job; its rows would be lost");
           },
       .command = [this](const Command& command, const AnswerCommand& answer) { OnCommand(command, answer); }});
  return OkStatus();
}

void ServerRuntime::OnCommand(const Command& command, const AnswerCommand& answer) {
  if (coordinator_runtime_ == nullptr) {
    return answer(Error(StatusCode::kFailedPrecondition, "this server does not run the job's coordinator"), "");
  }
  Command complete = command;
  if (auto* checkpoint = std::get_if<TakeCheckpoint>(&complete);
      checkpoint != nullptr && checkpoint->directory.empty()) {
    checkpoint->directory = options_.checkpoint_directory;
  }
  constexpr Duration kCommandTimeout = std::chrono::minutes(2);  // below the operator's patience (answer_patience)
  coordinator_runtime_->Execute(complete, kCommandTimeout,
                                [answer](const CommandResult& result) { answer(result.status, result.text); });
}

ServerOptions ServerRuntime::CoreOptions() {
  ServerOptions core;
  core.job_uid = options_.job_uid;
  core.incarnation = RandomSeed();
  core.index = options_.index;
  core.address = transport_->address();
  core.row_memory = [this](NodeId to, size_t bytes) { return transport_->Reserve(to, bytes); };
  core.create_store = [this](const TableSpec& spec) { return CreateStore(spec); };
  core.create_copies = [this](const TableSpec& spec) { return NewStore(spec); };
  return core;
}

// New rows are refused before the process has more memory than its container gives it.
StatusOr<std::unique_ptr<TableStore>> ServerRuntime::NewStore(const TableSpec& spec) {
  return TableStore::Create(spec, {.memory_budget = &memory_});
}

// Called within a step of the core, which holds the order back until the table is loaded.
StatusOr<std::unique_ptr<TableStore>> ServerRuntime::CreateStore(const TableSpec& spec) {
  const auto loaded = loaded_.find(spec.name);
  if (loaded == loaded_.end() || !loaded->second) {
    const OpenedCheckpoint* checkpoint = checkpoints_->opened();
    if (checkpoint == nullptr || checkpoint->manifest.Find(spec.name) == nullptr) return NewStore(spec);
    return Error(StatusCode::kUnavailable,
                 "table '" + spec.name + "' cannot be loaded yet: the shard map is not known");
  }
  RETURN_IF_ERROR(loaded->second->status);
  return std::move(loaded->second->store);
}

// --- loading: on the disk thread; the loop answers the coordinator meanwhile

bool ServerRuntime::LoadBefore(const Message& message) {
  const auto* install = std::get_if<InstallTable>(&message);
  if (install == nullptr || checkpoints_->opened() == nullptr) return false;
  const std::string& name = install->spec.name;
  if (checkpoints_->opened()->manifest.Find(name) == nullptr) return false;
  if (loaded_.contains(name)) return true;  // being read; the order has come again
  std::unique_lock lock(mutex_);
  const auto& tables = core_->tables();
  const size_t index = size_t{install->table.value()} - 1;
  if (index < tables.size() && tables[index] != nullptr) return false;
  // The map is known, because workers open tables only when all servers have joined.
  if (!core_->map().formed()) return false;
  HashRanges ranges = HomeRanges(core_->map(), core_->node());
  lock.unlock();
  loaded_[name] = std::nullopt;
  checkpoints_->Load(install->spec, std::move(ranges),
                     [this, install = *install](Status status, std::unique_ptr<TableStore> store) {
                       auto shared = std::make_shared<std::unique_ptr<TableStore>>(std::move(store));
                       loop_->Post([this, install, status, shared] { OnLoaded(install, status, std::move(*shared)); });
                     });
  return true;
}

void ServerRuntime::OnLoaded(const InstallTable& install, Status status, std::unique_ptr<TableStore> store) {
  if (!status.ok()) log::Error("cannot load a table", {{"table", install.spec.name}, {"reason", status}});
  loaded_[install.spec.name] = Loaded{.status = std::move(status), .store = std::move(store)};
  Step(Received{kCoordinator, install});
  loaded_.erase(install.spec.name);
}

void ServerRuntime::Step(ServerInput input) {
  ServerOutputs out;
  MonotonicTime wake;
  NodeId node;
  {
    std::lock_guard lock(mutex_);
    core_->Step(std::move(input), time_.Now(), out);
    wake = core_->WakeAt();
    node = core_->node();
  }
  if (node != NodeId()) transport_->SetSelf(node);
  for (const Member& server : out.connect) transport_->Connect(server.node, server.address);
  for (const NodeId server : out.disconnect) transport_->Disconnect(server);
  if (out.rows_restored > 0) {
    log::Warn("rows were lost with a server and begin anew; nobody had a copy", {{"rows", out.rows_restored}});
  }
  for (const Outgoing& outgoing : out.send) {
    if (outgoing.to == kCoordinator) {
      coordinator_->Send(outgoing.message);
    } else if (const Status status = transport_->Send(outgoing.to, outgoing.message, outgoing.link); !status.ok()) {
      log::Debug("a message was not sent; it comes again", {{"reason", status}});
    }
  }
  if (wake != armed_) {
    armed_ = wake;
    timer_->SetAt(wake, [this] {
      armed_ = kNever;
      Step(Timer{});
    });
  }
  if (out.save) StartSave(*out.save);
  if (out.call_off_snapshot) checkpoints_->CallOff();
  if (out.write_snapshot) WriteSnapshot(*out.write_snapshot);
  if (out.finished) End(OkStatus());
  if (out.lost) End(*out.lost);
}

void ServerRuntime::End(const Status& status) {
  std::lock_guard lock(end_mutex_);
  if (!end_) end_ = status;
  ended_.notify_all();
}

Status ServerRuntime::Wait() {
  std::unique_lock lock(end_mutex_);
  ended_.wait(lock, [this] { return end_.has_value(); });
  return *end_;
}

void ServerRuntime::Stop(const std::string& reason) { End(Error(StatusCode::kCancelled, reason)); }

// --- saving: the rows are copied on the loop, a piece at a time between other work, and written elsewhere

void ServerRuntime::StartSave(const SaveOrder& order) {
  std::lock_guard lock(mutex_);  // telemetry looks at the tables too
  std::vector<TableStore*> stores;
  for (const auto& store : core_->tables()) stores.push_back(store.get());
  checkpoints_->Write(order, stores, [this](SaveEnded ended) {
    if (!ended.status.ok()) log::Error("cannot write a checkpoint", {{"reason", ended.status}});
    // Not from within: the order may have been refused at once.
    loop_->Post([this, ended = std::move(ended)] { Step(ended); });
  });
}

void ServerRuntime::WriteSnapshot(const SnapshotOrder& order) {
  std::lock_guard lock(mutex_);
  std::vector<TableStore*> stores;
  for (const auto& store : core_->tables()) stores.push_back(store.get());
  checkpoints_->WriteSnapshot(order, stores, [this](SnapshotWritten written) {
    if (!written.status.ok()) log::Error("cannot write a checkpoint", {{"reason", written.status}});
    loop_->Post([this, written = std::move(written)] { Step(written); });
  });
}

// --- telemetry

ServerCounters ServerRuntime::counters() const {
  std::lock_guard lock(mutex_);
  return core_->counters();
}

uint64_t ServerRuntime::row_count() const {
  std::lock_guard lock(mutex_);
  uint64_t rows = 0;
  for (const auto& table : core_->tables()) rows += table == nullptr ? 0 : table->row_count();
  return rows;
}

// Bytes are estimated from this server's own rows: all hold the same tables.
std::optional<JobTelemetry::Relocation> ServerRuntime::RelocationOf(const JobProgress& progress,
                                                                    const ServerTelemetry& server, Duration window) {
  const uint64_t moved = progress.rows_moved - std::exchange(reported_moved_, progress.rows_moved);
  const uint64_t rows_left = progress.rows_to_come + progress.copies_to_send;
  if (moved == 0 && rows_left == 0 && progress.shards_to_change == 0) return std::nullopt;
  const uint64_t row_bytes = server.rows > 0 ? server.row_bytes / server.rows : 0;
  return JobTelemetry::Relocation{.bytes_left = rows_left * row_bytes,
                                  .rows_per_second = static_cast<double>(moved) / std::max(1e-3, Seconds(window))};
}

TelemetryWindow ServerRuntime::TakeWindow(MonotonicTime now) {
  ServerTelemetry server;
  ServerCounters total;
  {
    std::lock_guard lock(mutex_);
    total = core_->counters();
    for (const auto& table : core_->tables()) {
      if (table == nullptr) continue;
      server.rows += table->row_count();
      server.row_bytes += table->memory_bytes();
    }
  }
  const Transport::Counters bytes = transport_->counters();
  server.pulls = total.pulls - reported_.pulls;
  server.pushes = total.pushes - reported_.pushes;
  server.pulled_keys = total.pulled_keys - reported_.pulled_keys;
  server.pushed_keys = total.pushed_keys - reported_.pushed_keys;
  server.duplicate_pushes = total.duplicate_pushes - reported_.duplicate_pushes;
  server.connections = bytes.connections;
  server.bytes_received = bytes.bytes_received - reported_bytes_.bytes_received;
  server.bytes_sent = bytes.bytes_sent - reported_bytes_.bytes_sent;
  reported_ = total;
  reported_bytes_ = bytes;
  TelemetryWindow window{.duration = now - std::exchange(reported_at_, now), .server = server};
  if (coordinator_runtime_ != nullptr) {
    const JobProgress progress = coordinator_runtime_->progress();
    window.job = JobTelemetry{.data_set = progress.data_set,
                              .epoch = progress.epoch,
                              .epochs = progress.epochs,
                              .items = progress.items,
                              .items_done = progress.items_done,
                              .items_total = progress.items_total,
                              .reprocessed_items = progress.reprocessed_items,
                              .servers = progress.servers,
                              .workers = progress.workers,
                              .floor_clock = progress.floor_clock,
                              .abilities = kAbilities,
                              .synchronization = std::nullopt,
                              .slowest_worker = progress.floor_worker,
                              .server_states = coordinator_runtime_->servers(),
                              .relocation = RelocationOf(progress, server, window.duration),
                              .checkpoint = coordinator_runtime_->checkpoint(),
                              .recovery = std::nullopt};
    if (const auto mode = ParseSyncMode(progress.synchronization); mode.ok()) window.job->synchronization = *mode;
    if (progress.recoveries > 0) {
      window.job->recovery = JobTelemetry::Recovery{progress.recoveries, progress.rows_restored};
    }
  }
  return window;
}

}  // namespace attune::ps
