#include "ps/runtime/server/server_runtime.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/log.h"
#include "base/os/random_seed.h"
#include "proto/contract.h"
#include "ps/core/protocol/incarnation.h"
#include "ps/runtime/server/memory_limit.h"

namespace attune::ps {
StatusOr<std::unique_ptr<ServerRuntime>> ServerRuntime::Start(const Options& options, const TimeSource& time) {
  std::unique_ptr<ServerRuntime> runtime(new ServerRuntime(options, time));
  RETURN_IF_ERROR(runtime->Open());
  return runtime;
}

ServerRuntime::ServerRuntime(const Options& options, const TimeSource& time)
    : options_(options),
      time_(time),
      memory_(TableMemory(options.table_bytes_max)),
      window_(time.Now()),
      hosted_(options.checkpoint_directory) {}

ServerRuntime::~ServerRuntime() {
  reporter_.End();  // its thread uses what goes below
  if (checkpoints_ != nullptr) checkpoints_->Cancel();
  if (loop_ != nullptr) loop_->Stop();  // no step uses what goes now
  coordinator_.reset();                 // sends what is queued
  transport_.reset();
  checkpoints_.reset();
  hosted_.End();
  alarm_.reset();
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
                                       const MutexLock lock(mutex_);  // telemetry looks at the tables too
                                       task();
                                     });
                                   }});
  const ControlSecurity security{
      .job_uid = options_.job_uid, .token = options_.token, .tls_directory = options_.tls_directory};
  if (options_.coordinator_here) RETURN_IF_ERROR(OpenCoordinator(security));
  loop_ = EventLoop::Start("attune-server", time_);
  loop_->Post([this] { window_.serving().WatchThis(); });
  alarm_ = std::make_unique<StepAlarm>(*loop_, [this] { Step(Timer{}); });
  ASSIGN_OR_RETURN(transport_, TcpTransport::Create({.job_uid = options_.job_uid,
                                                     .self = {},
                                                     .bind_address = options_.bind_address,
                                                     .port = options_.port,
                                                     .seed = RandomSeed(),
                                                     .token = options_.token,
                                                     .tls_directory = options_.tls_directory,
                                                     .encrypted = options_.encrypted,
                                                     .shared_memory = options_.shared_memory},
                                                    *loop_, TransportEvents()));
  // Steps begin with this mutex, so the first one, which the connection brings at once, sees all of it in place.
  const MutexLock lock(mutex_);
  core_ = std::make_unique<TracedServer>(CoreOptions());
  coordinator_ =
      CoordinatorClient::Start(options_.coordinator, *loop_,
                               {.on_connected = [this] { Step(PeerConnected{kCoordinator}); },
                                .on_disconnected = [this](const Status&) { Step(PeerDisconnected{kCoordinator}); },
                                .on_message =
                                    [this](Message message, uint32_t term) {
                                      Step(Received{.from = kCoordinator, .message = std::move(message), .term = term});
                                    }},
                               security);
  StartReporter();
  return OkStatus();
}

// The one that the job begins with.
Status ServerRuntime::OpenCoordinator(const ControlSecurity& security) {
  CoordinatorRuntime::Options coordinator = *options_.coordinator_here;
  coordinator.security = security;
  coordinator.on_lease_changed = [this] { reporter_.ReportSoon(); };
  if (!options_.load_directory.empty()) {
    ASSIGN_OR_RETURN(const OpenedCheckpoint opened,
                     OpenToStart(options_.load_directory, options_.load_checkpoint, options_.load_best));
    CutRecord cut = opened.manifest.cut;
    if (cut.best && cut.best->directory.empty()) cut.best->directory = opened.directory.string();
    coordinator.core.load = {
        .directory = opened.directory.string(), .checkpoint = opened.manifest.number, .clock = cut.clock};
    if (!cut.synchronization.empty()) coordinator.core.resume = cut;  // else a program has saved its tables
  }
  ASSIGN_OR_RETURN(std::unique_ptr<CoordinatorRuntime> started, CoordinatorRuntime::Start(coordinator, time_));
  options_.coordinator = started->address();
  hosted_.Put(std::move(started));
  return OkStatus();
}

Transport::Events ServerRuntime::TransportEvents() {
  Transport::Events events;
  events.on_linked_message = [this](NodeId from, const LinkHeader& link, Message message) {
    Step(Received{.from = from, .message = std::move(message), .link = link});
  };
  events.on_connected = [this](NodeId peer) { Step(PeerConnected{peer}); };
  events.on_disconnected = [this](NodeId peer, const Status& reason) {
    if (reason.code() == StatusCode::kInvalidArgument) {
      log::Error("malformed frame from peer; resetting the link. If this repeats, compare the versions of both",
                 {{"node", peer.value()}, {"reason", reason}});
    } else {
      log::Debug("a link ended", {{"node", peer.value()}, {"reason", reason}});
    }
    Step(PeerDisconnected{peer});
  };
  return events;
}

void ServerRuntime::StartReporter() {
  reporter_.Put(Reporter::Start(
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
       .threads = {},
       .command = [this](const Command& command, const AnswerCommand& answer) { OnCommand(command, answer); },
       .trace = {.begin = [this](const std::string& table, uint64_t key) { return BeginTrace(table, key); },
                 .end = [this] { return EndTrace(); }}}));
}

Status ServerRuntime::BeginTrace(const std::string& table, uint64_t key) {
  const MutexLock lock(mutex_);
  return core_->BeginTrace(table, key, time_.Now());
}

std::vector<std::string> ServerRuntime::EndTrace() {
  const MutexLock lock(mutex_);
  return core_->EndTrace();
}

void ServerRuntime::OnCommand(const Command& command, const AnswerCommand& answer) {
  const auto* wanted = std::get_if<HostCoordinator>(&command);
  if (wanted == nullptr) return hosted_.Execute(command, answer);
  const StatusOr<std::string> text = Host(*wanted);
  answer(text.status(), text.ok() ? *text : "");
  hosted_.ExecuteEarly();
}

// --- another coordinator

// On the reporter's thread.
StatusOr<std::string> ServerRuntime::Host(const HostCoordinator& wanted) {
  const std::string who = "coordinator of term " + std::to_string(wanted.term);
  if (const auto present = hosted_.here(); present != nullptr && present->term() == wanted.term) {
    return who + " is at work";
  }
  CoordinatorRuntime::Options options;
  {
    const MutexLock lock(mutex_);
    options.core.newest_checkpoint = (*core_)->rows().restore_point();
    if ((*core_)->terms().term() >= wanted.term || (*core_)->node() == NodeId() || !(*core_)->map().formed()) {
      return Error(
          StatusCode::kFailedPrecondition,
          who + " cannot begin at server " + std::to_string(options_.index) + ", which " +
              ((*core_)->terms().term() >= wanted.term ? "obeys term " + std::to_string((*core_)->terms().term())
                                                       : std::string("is not a member of the job yet")));
    }
  }
  EndCoordinatorBelow(wanted.term);
  options.core.job_uid = options_.job_uid;
  options.core.term = wanted.term;
  options.core.takeover = true;
  options.core.voters = wanted.voters;
  options.core.host_index = options_.index;
  options.bind_address = options_.bind_address;
  options.port = options_.coordinator_port;
  options.retained_checkpoints = options_.retained_checkpoints;
  options.security = {.job_uid = options_.job_uid, .token = options_.token, .tls_directory = options_.tls_directory};
  options.on_lease_changed = [this] { reporter_.ReportSoon(); };
  ASSIGN_OR_RETURN(std::unique_ptr<CoordinatorRuntime> started, CoordinatorRuntime::Start(options, time_));
  const std::string address = started->address();
  hosted_.Put(std::move(started));
  log::Info("takes over as the job's coordinator", {{"term", wanted.term}, {"address", address}});
  uint16_t port = 0;
  (void)std::from_chars(address.data() + address.rfind(':') + 1, address.data() + address.size(), port);
  loop_->Post([this, term = wanted.term, port, address] {
    coordinator_->Redirect(address);
    Step(CoordinatorHere{.term = term, .port = port});
  });
  return who + " begins";
}

void ServerRuntime::EndCoordinatorBelow(uint32_t term) {
  std::optional<CoordinatorRecord> record = hosted_.EndBelow(term);
  if (!record) return;
  const MutexLock lock(mutex_);
  (*core_)->KeepRecord(std::move(*record));
}

ServerOptions ServerRuntime::CoreOptions() {
  ServerOptions core;
  core.job_uid = options_.job_uid;
  core.incarnation = NewIncarnation(PodNumber(options_.pod_uid), RandomSeed());
  core.index = options_.index;
  core.machine = options_.machine;
  core.address = transport_->address();
  core.row_memory = [this](NodeId to, size_t bytes) { return transport_->Reserve(to, bytes); };
  core.create_store = [this](const TableSpec& spec) { return NewStore(spec); };
  core.create_copies = [this](const TableSpec& spec) { return NewStore(spec); };
  return core;
}

// New rows are refused before the process has more memory than its container gives it.
StatusOr<std::unique_ptr<TableStore>> ServerRuntime::NewStore(const TableSpec& spec) {
  return TableStore::Create(spec, {.memory_budget = &memory_});
}

void ServerRuntime::Step(ServerInput input) {
  ServerOutputs out;
  MonotonicTime wake;
  NodeId node;
  {
    const MutexLock lock(mutex_);
    core_->Step(std::move(input), time_.Now(), out);
    wake = (*core_)->WakeAt();
    node = (*core_)->node();
  }
  if (node != NodeId()) transport_->SetSelf(node);
  for (const Member& server : out.connect) transport_->Connect(server.node, server.address);
  for (const NodeId server : out.disconnect) transport_->Disconnect(server);
  if (out.coordinator) {
    EndCoordinatorBelow(out.coordinator->term);  // before this server promises anything to the new one
    coordinator_->Redirect(out.coordinator->address);
  }
  rejections_.Log(out.rejected);
  if (out.rows_restored > 0) {
    log::Warn("rows that were lost with a server went back to a checkpoint", {{"rows", out.rows_restored}});
  }
  if (out.rows_begun_anew > 0) {
    log::Warn("rows that were lost with a server are reinitialized; no checkpoint has them",
              {{"rows", out.rows_begun_anew}});
  }
  for (const Outgoing& outgoing : out.send) {
    if (outgoing.to == kCoordinator) {
      coordinator_->Send(outgoing.message);
    } else if (const Status status = transport_->Send(outgoing.to, outgoing.message, outgoing.link); !status.ok()) {
      log::Debug("a message was not sent; it comes again", {{"reason", status}});
    }
  }
  alarm_->SetAt(wake);
  for (const LoadOrder& order : out.load) Load(order);
  for (const RestoreOrder& order : out.restore) Restore(order);
  if (out.call_off_snapshot) checkpoints_->CallOff();
  if (out.write_snapshot) WriteSnapshot(*out.write_snapshot);
  if (out.finished) end_.End(OkStatus());
  if (out.lost) end_.End(*out.lost);
}

// --- telemetry

ServerCounters ServerRuntime::counters() const {
  const MutexLock lock(mutex_);
  return (*core_)->rows().counters();
}

uint64_t ServerRuntime::row_count() const {
  const MutexLock lock(mutex_);
  uint64_t rows = 0;
  for (const auto& table : (*core_)->rows().tables()) rows += table == nullptr ? 0 : table->row_count();
  return rows;
}

void ServerRuntime::AddTables(MonotonicTime now, ServerFigures& figures) const {
  std::map<TableId, TableInterests> interests = (*core_)->rows().replicas().Survey(now);
  RowTables::ForEach((*core_)->rows().tables(), [&](TableId id, const TableStore& table) {
    figures.rows += table.row_count();
    figures.row_bytes += table.memory_bytes();
    if (figures.tables.size() >= kTablesReported) return;
    figures.tables.push_back({.name = table.spec().name,
                              .rows = table.row_count(),
                              .row_bytes = table.memory_bytes(),
                              .interests = interests[id]});
  });
}

v1::WindowReport ServerRuntime::TakeWindow(MonotonicTime now) {
  memory_.SetLimit(TableMemory(options_.table_bytes_max));
  ServerFigures figures;
  {
    const MutexLock lock(mutex_);
    figures.counters = (*core_)->rows().counters();
    figures.parked_pulls = (*core_)->rows().parked();
    AddTables(now, figures);
    figures.coordinator_silent_seconds = std::max(0.0, Seconds((*core_)->terms().Silence(now)));
    figures.map_version = (*core_)->map().version.value();
    figures.goal_reached = (*core_)->goal_reached();
  }
  figures.bytes = transport_->counters();
  figures.serving_cpu_seconds = window_.serving().seconds();
  v1::WindowReport window = window_.Take(figures, now);
  if (const std::shared_ptr<CoordinatorRuntime> coordinator = hosted_.here()) {
    const JobProgress progress = coordinator->Report(&window);
    if (window.has_job()) window_.AddRelocation(progress, &window);
  }
  return window;
}

}  // namespace attune::ps
