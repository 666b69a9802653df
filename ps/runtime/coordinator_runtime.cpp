#include "ps/runtime/coordinator_runtime.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "ps/runtime/model_directory.h"

namespace attune::ps {

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
      options_(options),
      core_(options.core),
      loop_(EventLoop::Start("attune-coord", time)),
      timer_(loop_->NewTimer()) {}

CoordinatorRuntime::~CoordinatorRuntime() {
  loop_->Stop();  // no step uses the service any more
  if (disk_.joinable()) disk_.join();
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

void CoordinatorRuntime::Execute(Command command, Duration timeout, OnResult on_result) {
  loop_->Post([this, command = std::move(command), timeout, on_result = std::move(on_result)]() mutable {
    last_command_ = last_command_.Next();
    commands_.emplace(last_command_, std::move(on_result));
    Step(FromOperator{.id = last_command_, .command = std::move(command), .timeout = timeout});
  });
}

// One at a time: the core asks for the next when the one before has answered.
void CoordinatorRuntime::OnDisk(std::function<CoordinatorInput()> work) {
  if (disk_.joinable()) disk_.join();
  disk_ = std::thread(
      [this, work = std::move(work)] { loop_->Post([this, input = work()]() mutable { Step(std::move(input)); }); });
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
  if (out.goal_reached) log::Info("goal reached", {{"reason", *out.goal_reached}});
  if (out.failed) log::Error("the job cannot go on", {{"reason", *out.failed}});
  Arm(wake);
  for (const CommandResult& result : out.command_results) {
    if (auto waiting = commands_.extract(result.id); !waiting.empty() && waiting.mapped()) waiting.mapped()(result);
  }
  if (out.begin_checkpoint) {
    OnDisk([this, order = *out.begin_checkpoint]() -> CoordinatorInput {
      if (options_.begin_checkpoint && options_.commit_checkpoint) return options_.begin_checkpoint(order);
      return CheckpointBegun{.cut = order.cut,
                             .status = Error(StatusCode::kUnimplemented, "this server cannot write checkpoints")};
    });
  }
  if (out.commit_checkpoint) {
    OnDisk([this, commit = *std::move(out.commit_checkpoint)]() -> CoordinatorInput {
      return options_.commit_checkpoint(commit);
    });
  }
  if (out.write_manifest) {
    const Status written = WriteManifest(*out.write_manifest, options_.core.job_uid);
    Step(ManifestWritten{out.write_manifest->save, written});
  }
}

void CoordinatorRuntime::Arm(MonotonicTime wake) {
  if (wake == kNever) return timer_->Cancel();
  timer_->SetAt(wake, [this] { Step(CoordinatorTimer{}); });
}

}  // namespace attune::ps
