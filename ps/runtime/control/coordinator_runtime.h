// Drives a CoordinatorCore inside the server that was appointed: its gRPC service and its timer, on a loop of its own,
// so that large pushes to that server do not delay the job's control messages.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time_source.h"
#include "ps/checkpoint/background.h"
#include "ps/checkpoint/checkpoint_writer.h"
#include "ps/core/coordinator/coordinator_core.h"
#include "ps/runtime/control/coordinator_service.h"
#include "ps/runtime/control/open_commands.h"
#include "ps/runtime/control/urgent_news.h"
#include "ps/runtime/process/job_window.h"
#include "ps/runtime/process/rejection_log.h"
#include "ps/transport/event_loop.h"

namespace attune::ps {

class CoordinatorRuntime {
 public:
  struct Options {
    CoordinatorOptions core;
    std::string bind_address = "127.0.0.1";
    uint16_t port = 0;  // 0: any
    uint32_t retained_checkpoints = kRetainedDefault;
    ControlSecurity security;
    // What it says of its lease has changed. On the coordinator's loop, at the end of a step; must not block.
    std::function<void()> on_lease_changed;
  };

  using OnResult = OpenCommands::OnResult;

  static StatusOr<std::unique_ptr<CoordinatorRuntime>> Start(const Options& options, const TimeSource& time);
  ~CoordinatorRuntime();

  const std::string& address() const { return service_->address(); }
  JobProgress progress() const;
  // What it has to report: its lease, and the job unless it is taking over. Returns what that was made of.
  JobProgress Report(v1::WindowReport* to) const;
  uint32_t term() const { return term_; }
  // Another coordinator is obeyed: this one does nothing from now on, and hands over what it knows. Any thread.
  std::optional<CoordinatorRecord> Supersede();
  bool superseded() const;
  // Any thread. `on_result` is called exactly once, on the coordinator's loop, at the latest `timeout` from now; not at
  // all when this object ends before.
  void Execute(Command command, Duration timeout, OnResult on_result);

 private:
  CoordinatorRuntime(const Options& options, const TimeSource& time);
  void Step(CoordinatorInput input);
  void Arm(MonotonicTime wake);
  void BeginCheckpoint(const CheckpointOrder& order);
  void CommitCheckpoint(CheckpointCommit commit);

  const TimeSource& time_;
  const uint32_t term_;
  RejectionLog rejections_;
  const std::function<void()> on_lease_changed_;
  mutable Mutex mutex_;
  bool superseded_ ABSL_GUARDED_BY(mutex_) = false;
  CoordinatorCore core_ ABSL_GUARDED_BY(mutex_);
  // The newest that this coordinator has completed.
  std::optional<WrittenCheckpoint> checkpoint_ ABSL_GUARDED_BY(mutex_);
  UrgentNews news_ ABSL_GUARDED_BY(mutex_);
  OpenCommands commands_;  // of the loop, as is what follows
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<EventLoop::Timer> timer_;
  std::unique_ptr<CoordinatorService> service_;
  CheckpointWriter checkpoints_;  // of the disk thread
  std::unique_ptr<BackgroundThread> disk_;
};

}  // namespace attune::ps
