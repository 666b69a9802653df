#include "ps/runtime/coordinator_runtime.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "proto/contract.h"

namespace attune::ps {
namespace {

CheckpointParts PartsOf(const ManifestOrder& order) {
  CheckpointParts parts;
  for (const TableSpec& spec : order.tables) parts.tables.push_back({.spec = spec, .rows = 0, .files = {}});
  for (const WrittenFile& file : order.files) {
    CheckpointFile written{.name = file.name,
                           .checkpoint = order.checkpoint,
                           .rows = file.rows,
                           .erased = file.erased,
                           .bytes = file.bytes,
                           .digest = static_cast<uint32_t>(file.checksum)};
    if (file.table == TableId()) {
      parts.filters.push_back(std::move(written));
    } else if (file.table.value() <= parts.tables.size()) {
      parts.tables[file.table.value() - 1].rows += file.held;
      parts.tables[file.table.value() - 1].files.push_back(std::move(written));
    }
  }
  return parts;
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
                        .on_closed = [self](ConnectionId connection) { self->Step(ConnectionClosed{connection}); }}));
  return runtime;
}

CoordinatorRuntime::CoordinatorRuntime(const Options& options, const TimeSource& time)
    : time_(time),
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

JobProgress CoordinatorRuntime::progress() const {
  std::lock_guard lock(mutex_);
  return core_.progress();
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

void CoordinatorRuntime::Ask(const Command& command, std::function<void(const CommandResult&)> answer) {
  CommandId id;
  {
    std::lock_guard lock(mutex_);
    id = CommandId(++last_command_);
    answers_.emplace(id, std::move(answer));
  }
  loop_->Post([this, id, command] { Step(FromOperator{.id = id, .command = command}); });
}

void CoordinatorRuntime::Answer(const CommandResult& result) {
  std::function<void(const CommandResult&)> answer;
  {
    std::lock_guard lock(mutex_);
    if (const auto found = answers_.find(result.id); found != answers_.end()) {
      answer = std::move(found->second);
      answers_.erase(found);
    }
  }
  if (answer) answer(result);
}

void CoordinatorRuntime::Step(CoordinatorInput input) {
  CoordinatorOutputs out;
  MonotonicTime wake;
  {
    std::lock_guard lock(mutex_);
    core_.Step(std::move(input), time_.Now(), out);
    wake = core_.WakeAt();
  }
  for (const ToConnection& message : out.send) service_->Send(message.to, message.message);
  for (const ConnectionId connection : out.close) service_->Close(connection);
  for (const std::string& event : out.events) log::Info(event);
  for (const CommandResult& result : out.command_results) Answer(result);
  if (out.goal_reached) log::Info("goal reached", {{"reason", *out.goal_reached}});
  if (out.failed) log::Error("the job cannot go on", {{"reason", *out.failed}});
  Arm(wake);
  if (out.begin_save) BeginSave(*out.begin_save);
  if (out.write_manifest) WriteManifest(*out.write_manifest);
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
        checkpoints_.Commit({.directory = order.directory, .number = order.checkpoint, .base = order.base}, PartsOf(order));
    if (status.ok() && !checkpoints_.leftover().ok()) {
      log::Warn("files of old checkpoints were not removed", {{"reason", checkpoints_.leftover()}});
    }
    loop_->Post([this, save = order.save, status] { Step(ManifestWritten{.save = save, .status = status}); });
  });
}

void CoordinatorRuntime::Arm(MonotonicTime wake) {
  if (wake == kNever) return timer_->Cancel();
  timer_->SetAt(wake, [this] { Step(CoordinatorTimer{}); });
}

}  // namespace attune::ps
