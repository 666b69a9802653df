#include "ps/runtime/control/coordinator_runtime.h"

#include <utility>

#include "base/log.h"
#include "proto/contract.h"
#include "ps/runtime/process/leave_mark.h"

namespace attune::ps {
namespace {

// Files sorted to their tables.
CheckpointParts PartsOf(const CheckpointCommit& commit) {
  CheckpointParts parts;
  for (const TableSpec& spec : commit.tables) parts.tables.push_back({.spec = spec, .rows = 0, .files = {}});
  for (const CutFile& file : commit.files) {
    CheckpointFile entry{.name = file.name,
                         .checkpoint = file.checkpoint,
                         .rows = file.rows,
                         .erased = file.erased,
                         .bytes = file.bytes,
                         .digest = file.digest};
    if (file.table == TableId()) {
      parts.filters.push_back(std::move(entry));
    } else if (file.table.value() <= parts.tables.size()) {
      parts.tables[file.table.value() - 1].rows += file.table_rows;
      parts.tables[file.table.value() - 1].files.push_back(std::move(entry));
    }
  }
  parts.cut = commit.record;
  return parts;
}

}  // namespace

StatusOr<std::unique_ptr<CoordinatorRuntime>> CoordinatorRuntime::Start(const Options& options,
                                                                        const TimeSource& time) {
  std::unique_ptr<CoordinatorRuntime> runtime(new CoordinatorRuntime(options, time));
  CoordinatorRuntime* self = runtime.get();
  const MutexLock lock(runtime->mutex_);  // a first step waits until the service it answers through is in place
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
      on_lease_changed_(options.on_lease_changed),
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

std::optional<CoordinatorRecord> CoordinatorRuntime::Supersede() {
  const MutexLock lock(mutex_);
  superseded_ = true;
  return core_.LastRecord();
}

bool CoordinatorRuntime::superseded() const {
  const MutexLock lock(mutex_);
  return superseded_;
}

JobProgress CoordinatorRuntime::progress() const {
  const MutexLock lock(mutex_);
  return core_.progress();
}

JobProgress CoordinatorRuntime::Report(v1::WindowReport* to) const {
  const MutexLock lock(mutex_);
  JobProgress progress = core_.progress();
  *to->mutable_leader_lease() = LeaseToProto(progress, term_);
  if (progress.taking_over) return progress;
  *to->mutable_job() = ToProto(progress, core_.map(), term_);
  if (checkpoint_) *to->mutable_job()->mutable_checkpoint() = ToProto(*checkpoint_);
  return progress;
}

void CoordinatorRuntime::Execute(Command command, Duration timeout, OnResult on_result) {
  loop_->Post([this, command = std::move(command), timeout, on_result = std::move(on_result)]() mutable {
    const CommandId id = commands_.Add(std::move(on_result));
    Step(FromOperator{.id = id, .command = std::move(command), .timeout = timeout});
  });
}

void CoordinatorRuntime::Step(CoordinatorInput input) {
  CoordinatorOutputs out;
  MonotonicTime wake;
  bool urgent = false;
  JobEnd end;
  {
    const MutexLock lock(mutex_);
    if (superseded_) return;
    const MonotonicTime now = time_.Now();
    core_.Step(std::move(input), now, out);
    superseded_ = out.superseded;
    wake = core_.WakeAt();
    urgent = news_.IsDue(now) && news_.Changed(core_.progress(), core_.map().formed());
    if (out.finished) {
      const JobProgress progress = core_.progress();
      end = {.closing_work = progress.closing.declared, .lost_rows = progress.model_lost};
    }
  }
  if (out.finished) NoteJobFinished(end);
  if (urgent && on_lease_changed_) on_lease_changed_();
  if (out.superseded) log::Warn("a node obeys another coordinator of a higher term; this one ends", {{"term", term_}});
  for (const ToConnection& message : out.send) service_->Send(message.to, message.message);
  for (const ConnectionId connection : out.close) service_->Close(connection);
  for (const std::string& event : out.events) log::Info(event);
  rejections_.Log(out.rejected);
  if (out.goal_reached) log::Info("goal reached", {{"reason", *out.goal_reached}});
  if (out.failed) log::Error("the job cannot continue", {{"reason", *out.failed}});
  Arm(wake);
  for (const CommandResult& result : out.command_results) commands_.Answer(result);
  if (out.begin_checkpoint) BeginCheckpoint(*out.begin_checkpoint);
  if (out.commit_checkpoint) CommitCheckpoint(*std::move(out.commit_checkpoint));
}

// --- checkpoints: a disk may block for long, and this loop answers heartbeats

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
    const Status status = checkpoints_.Commit(
        {.directory = commit.directory, .number = commit.checkpoint, .base = commit.base}, PartsOf(commit));
    if (status.ok() && !checkpoints_.leftover().ok()) {
      log::Warn("files of old checkpoints were not removed", {{"reason", checkpoints_.leftover()}});
    }
    if (status.ok() && !commit.record.synchronization.empty()) {  // else a program has saved its tables
      const Manifest& manifest = *checkpoints_.last();
      const MutexLock lock(mutex_);
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

void CoordinatorRuntime::Arm(MonotonicTime wake) {
  if (wake == kNever) return timer_->Cancel();
  timer_->SetAt(wake, [this] { Step(CoordinatorTimer{}); });
}

}  // namespace attune::ps
