#include "ps/runtime/server_runtime.h"

#include <algorithm>

#include "base/log.h"
#include "base/random_seed.h"
#include "proto/contract.h"
#include "ps/runtime/abilities.h"

namespace attune::ps {

StatusOr<std::unique_ptr<ServerRuntime>> ServerRuntime::Start(const Options& options, const TimeSource& time) {
  std::unique_ptr<ServerRuntime> runtime(new ServerRuntime(options, time));
  RETURN_IF_ERROR(runtime->Open());
  return runtime;
}

ServerRuntime::ServerRuntime(const Options& options, const TimeSource& time)
    : options_(options), time_(time), reported_at_(time.Now()) {}

ServerRuntime::~ServerRuntime() {
  reporter_.reset();                    // sends the last window
  if (loop_ != nullptr) loop_->Stop();  // no step uses what goes now
  coordinator_.reset();                 // sends what is queued
  transport_.reset();
  if (saver_.joinable()) saver_.join();
  timer_.reset();
  loop_.reset();
}

// The data port is bound before the coordinator hears of this server, because the address is part of the Join.
Status ServerRuntime::Open() {
  if (!options_.load_directory.empty()) {
    ASSIGN_OR_RETURN(saved_model_, SavedModel::Open(options_.load_directory));
  }
  coordinator_address_ = options_.coordinator;
  if (options_.coordinator_here) {
    ASSIGN_OR_RETURN(coordinator_runtime_, CoordinatorRuntime::Start(*options_.coordinator_here, time_));
    coordinator_address_ = coordinator_runtime_->address();
  }
  loop_ = EventLoop::Start("attune-server", time_);
  timer_ = loop_->NewTimer();
  Transport::Events events;
  events.on_message = [this](NodeId from, Message message) { OnRowMessage(from, std::move(message)); };
  events.on_connected = [this](NodeId peer) { Step(PeerConnected{peer}); };
  events.on_disconnected = [this](NodeId peer, const Status& reason) {
    log::Debug("a worker's link ended", {{"node", peer.value()}, {"reason", reason}});
    Step(PeerDisconnected{peer});
  };
  ASSIGN_OR_RETURN(transport_, TcpTransport::Create({.job_uid = options_.job_uid,
                                                     .self = {},
                                                     .bind_address = options_.bind_address,
                                                     .port = options_.port,
                                                     .seed = RandomSeed()},
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
                                      Step(Received{kCoordinator, std::move(message)});
                                    }});
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
  core.create_store = [this](const TableSpec& spec) { return CreateStore(spec); };
  return core;
}

// Called within a step of the core; the map is known, because workers open tables only when all servers have joined.
StatusOr<std::unique_ptr<TableStore>> ServerRuntime::CreateStore(const TableSpec& spec) const {
  ASSIGN_OR_RETURN(std::unique_ptr<TableStore> store, TableStore::Create(spec));
  if (!saved_model_) return store;
  if (!saved_model_->Has(spec.name)) {
    log::Info("the saved model has no such table; it starts empty", {{"table", spec.name}});
    return store;
  }
  const ShardMap& map = core_->map();
  if (!map.formed()) return Error(StatusCode::kUnavailable, "the shard map is not known yet");
  const NodeId self = core_->node();
  RETURN_IF_ERROR(saved_model_->Load(*store, [&](Key key) { return map.HomeOf(key) == self; }));
  log::Info("loaded a table", {{"table", spec.name}, {"rows", store->row_count()}});
  return store;
}

void ServerRuntime::OnRowMessage(NodeId from, Message message) {
  if (!saving_) return Step(Received{from, std::move(message)});
  if (deferred_.size() < kDeferredMax) deferred_.push_back({from, std::move(message)});
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
  for (const Outgoing& outgoing : out.send) {
    if (outgoing.to == kCoordinator) {
      coordinator_->Send(outgoing.message);
    } else if (const Status status = transport_->Send(outgoing.to, outgoing.message); !status.ok()) {
      log::Debug("an answer was not sent; its worker asks again", {{"reason", status}});
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

// --- saving: the loop answers the coordinator meanwhile, and touches no table

void ServerRuntime::StartSave(const SaveOrder& order) {
  if (saver_.joinable()) saver_.join();  // the one before has posted its end
  saving_ = true;
  std::vector<const TableStore*> stores;
  for (const auto& store : core_->tables()) stores.push_back(store.get());
  saver_ = std::thread([this, order, stores = std::move(stores)] {
    StatusOr<std::vector<WrittenFile>> files =
        WriteTableFiles(order.directory, options_.job_uid, stores, order.part, order.parts);
    SaveEnded ended{.save = order.save, .status = files.status(), .files = {}};
    if (files.ok()) ended.files = *std::move(files);
    loop_->Post([this, ended = std::move(ended)] { OnSaved(ended); });
  });
}

void ServerRuntime::OnSaved(SaveEnded ended) {
  if (!ended.status.ok()) log::Error("cannot save tables", {{"reason", ended.status}});
  saving_ = false;
  Step(std::move(ended));
  while (!deferred_.empty() && !saving_) {
    Received received = std::move(deferred_.front());
    deferred_.pop_front();
    Step(std::move(received));
  }
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
                              .checkpoint = std::nullopt,
                              .recovery = std::nullopt};
    if (const auto mode = ParseSyncMode(progress.synchronization); mode.ok()) window.job->synchronization = *mode;
    if (progress.recoveries > 0) {
      window.job->recovery = JobTelemetry::Recovery{progress.recoveries, progress.rows_restored};
    }
  }
  return window;
}

}  // namespace attune::ps
