#include "ps/runtime/coordinator_runtime.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "proto/contract.h"

namespace attune::ps {
namespace {

// Files sorted to their tables; `held` of a file: rows its table has on the node that wrote it.
class Parts {
 public:
  explicit Parts(const std::vector<TableSpec>& tables) {
    for (const TableSpec& spec : tables) parts_.tables.push_back({.spec = spec, .rows = 0, .files = {}});
  }
  void Add(TableId table, uint64_t held, CheckpointFile file) {
    if (table == TableId()) {
      parts_.filters.push_back(std::move(file));
    } else if (table.value() <= parts_.tables.size()) {
      parts_.tables[table.value() - 1].rows += held;
      parts_.tables[table.value() - 1].files.push_back(std::move(file));
    }
  }
  CheckpointParts Take(CutRecord cut) && {
    parts_.cut = std::move(cut);
    return std::move(parts_);
  }

 private:
  CheckpointParts parts_;
};

CheckpointParts PartsOf(const ManifestOrder& order) {
  Parts parts(order.tables);
  for (const WrittenFile& file : order.files) {
    parts.Add(file.table, file.held,
              {.name = file.name,
               .checkpoint = order.checkpoint,
               .rows = file.rows,
               .erased = file.erased,
               .bytes = file.bytes,
               .digest = static_cast<uint32_t>(file.checksum)});
  }
  return std::move(parts).Take({});
}

CheckpointParts PartsOf(const CheckpointCommit& commit) {
  Parts parts(commit.tables);
  for (const CutFile& file : commit.files) {
    parts.Add(file.table, file.table_rows,
              {.name = file.name,
               .checkpoint = file.checkpoint,
               .rows = file.rows,
               .erased = file.erased,
               .bytes = file.bytes,
               .digest = file.digest});
  }
  return std::move(parts).Take(commit.record);
}

}  // namespace

StatusOr<std::unique_ptr<CoordinatorRuntime>> CoordinatorRuntime::Start(const Options& options,
                                                                        const TimeSource& time) {
  std::unique_ptr<CoordinatorRuntime> runtime(new CoordinatorRuntime(options, time));
  CoordinatorRuntime* self = runtime.get();
  std::lock_guard lock(runtime->mutex_);  // a first step waits until the service it answers through is in place
  ASSIGN_OR_RETURN(runtime->service_,
                   CoordinatorService::Start(
                       options.bind_address, options.port, *runtime->loop_,
                       {.on_message =
                            [self](ConnectionId from, Message message) {
                              self->Step(FromConnection{from, std::move(message)});
                            },
                        .on_closed = [self](ConnectionId connection) { self->Step(ConnectionClosed{connection}); }},
                       options.security, options.core.term));
  return runtime;
}

CoordinatorRuntime::CoordinatorRuntime(const Options& options, const TimeSource& time)
    : time_(time),
      term_(options.core.term),
      core_(options.core),
      loop_(EventLoop::Start("attune-coord", time)),
      timer_(loop_->NewTimer()),
      checkpoints_(RealFileSystem(), time,
                   {.job_uid = options.core.job_uid,
                    .protocol_version = contract::kProtocolVersion,
                    .retained = options.retained_checkpoints}),
      disk_(std::make_unique<BackgroundThread>()) {}

CoordinatorRuntime::~CoordinatorRuntime() {
  loop_->Stop();  // no step uses the service any more
  disk_.reset();
  service_.reset();
  timer_.reset();
  loop_.reset();
}

void CoordinatorRuntime::Supersede() {
  std::lock_guard lock(mutex_);
  superseded_ = true;
}

bool CoordinatorRuntime::superseded() const {
  std::lock_guard lock(mutex_);
  return superseded_;
}

JobProgress CoordinatorRuntime::progress() const {
  std::lock_guard lock(mutex_);
  return core_.progress();
}

std::optional<JobTelemetry::Checkpoint> CoordinatorRuntime::checkpoint() const {
  std::lock_guard lock(mutex_);
  return checkpoint_;
}

std::vector<JobTelemetry::Server> CoordinatorRuntime::servers() const {
  using State = JobTelemetry::Server::State;
  std::vector<JobTelemetry::Server> servers;
  {
    std::lock_guard lock(mutex_);
    const ShardMap& map = core_.map();
    std::set<NodeId> homes;
    for (const Shard& shard : map.shards) homes.insert(shard.home);
    for (const Member& member : map.members) {
      if (member.role != Role::kServer) continue;
      const State state = member.leaving                ? State::kDraining
                          : homes.contains(member.node) ? State::kServing
                                                        : State::kJoining;
      servers.push_back({member.index, state});
    }
  }
  std::ranges::sort(servers, {}, &JobTelemetry::Server::index);
  return servers;
}

void CoordinatorRuntime::Execute(Command command, Duration timeout, OnResult on_result) {
  loop_->Post([this, command = std::move(command), timeout, on_result = std::move(on_result)]() mutable {
    last_command_ = last_command_.Next();
    commands_.emplace(last_command_, std::move(on_result));
    Step(FromOperator{.id = last_command_, .command = std::move(command), .timeout = timeout});
  });
}

void CoordinatorRuntime::Step(CoordinatorInput input) {
  CoordinatorOutputs out;
  MonotonicTime wake;
  {
    std::lock_guard lock(mutex_);
    if (superseded_) return;
    core_.Step(std::move(input), time_.Now(), out);
    superseded_ = out.superseded;
    wake = core_.WakeAt();
  }
  if (out.superseded) log::Warn("a node obeys another coordinator of a higher term; this one ends", {{"term", term_}});
  for (const ToConnection& message : out.send) service_->Send(message.to, message.message);
  for (const ConnectionId connection : out.close) service_->Close(connection);
  for (const std::string& event : out.events) log::Info(event);
  if (out.goal_reached) log::Info("goal reached", {{"reason", *out.goal_reached}});
  if (out.failed) log::Error("the job cannot go on", {{"reason", *out.failed}});
  Arm(wake);
  for (const CommandResult& result : out.command_results) {
    if (auto waiting = commands_.extract(result.id); !waiting.empty() && waiting.mapped()) waiting.mapped()(result);
  }
  if (out.begin_save) BeginSave(*out.begin_save);
  if (out.write_manifest) WriteManifest(*out.write_manifest);
  if (out.begin_checkpoint) BeginCheckpoint(*out.begin_checkpoint);
  if (out.commit_checkpoint) CommitCheckpoint(*std::move(out.commit_checkpoint));
}

// --- checkpoints: a disk may block for long, and this loop answers heartbeats

void CoordinatorRuntime::BeginSave(const SaveStart& start) {
  disk_->Post([this, start] {
    const StatusOr<CheckpointPlan> plan = checkpoints_.Begin(start.directory);
    SaveBegun begun{.save = start.save, .status = plan.status()};
    if (plan.ok()) begun.checkpoint = plan->number, begun.base = plan->base;
    loop_->Post([this, begun = std::move(begun)] { Step(begun); });
  });
}

void CoordinatorRuntime::WriteManifest(const ManifestOrder& order) {
  disk_->Post([this, order] {
    const Status status =
        Commit({.directory = order.directory, .number = order.checkpoint, .base = order.base}, PartsOf(order));
    loop_->Post([this, save = order.save, status] { Step(ManifestWritten{.save = save, .status = status}); });
  });
}

void CoordinatorRuntime::BeginCheckpoint(const CheckpointOrder& order) {
  disk_->Post([this, order] {
    const StatusOr<CheckpointPlan> plan = checkpoints_.Begin(order.directory);
    CheckpointBegun begun{.cut = order.cut, .status = plan.status()};
    if (plan.ok()) begun.checkpoint = plan->number, begun.base = plan->base;
    loop_->Post([this, begun = std::move(begun)] { Step(begun); });
  });
}

void CoordinatorRuntime::CommitCheckpoint(CheckpointCommit commit) {
  disk_->Post([this, commit = std::move(commit)] {
    const Status status =
        Commit({.directory = commit.directory, .number = commit.checkpoint, .base = commit.base}, PartsOf(commit));
    if (status.ok()) {
      const Manifest& manifest = *checkpoints_.last();
      std::lock_guard lock(mutex_);
      checkpoint_ = {.directory = commit.directory,
                     .complete_at = WallTime(std::chrono::seconds(manifest.written_at)),
                     .bytes = manifest.bytes(),
                     .rows = manifest.rows(),
                     .number = manifest.number,
                     .step = manifest.cut.clock};
    }
    loop_->Post([this, cut = commit.cut, status] { Step(CheckpointCommitted{.cut = cut, .status = status}); });
  });
}

Status CoordinatorRuntime::Commit(const CheckpointPlan& plan, CheckpointParts parts) {
  const Status status = checkpoints_.Commit(plan, std::move(parts));
  if (status.ok() && !checkpoints_.leftover().ok()) {
    log::Warn("files of old checkpoints were not removed", {{"reason", checkpoints_.leftover()}});
  }
  return status;
}

void CoordinatorRuntime::Arm(MonotonicTime wake) {
  if (wake == kNever) return timer_->Cancel();
  timer_->SetAt(wake, [this] { Step(CoordinatorTimer{}); });
}

}  // namespace attune::ps
