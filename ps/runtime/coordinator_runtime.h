// Drives a CoordinatorCore inside the server that was appointed: its gRPC service and its timer, on a loop of its own,
// so that large pushes to that server do not delay the job's control messages.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/coordinator_core.h"
#include "ps/runtime/coordinator_service.h"
#include "ps/transport/event_loop.h"

namespace attune::ps {

class CoordinatorRuntime {
 public:
  struct Options {
    CoordinatorOptions core;
    std::string bind_address = "127.0.0.1";
    uint16_t port = 0;  // 0: any
    ControlSecurity security;
  };

  static StatusOr<std::unique_ptr<CoordinatorRuntime>> Start(const Options& options, const TimeSource& time);
  ~CoordinatorRuntime();

  const std::string& address() const { return service_->address(); }
  JobProgress progress() const;

 private:
  CoordinatorRuntime(const Options& options, const TimeSource& time);
  void Step(CoordinatorInput input);
  void Arm(MonotonicTime wake);

  const TimeSource& time_;
  const std::string job_uid_;
  mutable std::mutex mutex_;  // guards core_
  CoordinatorCore core_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<EventLoop::Timer> timer_;
  std::unique_ptr<CoordinatorService> service_;
};

}  // namespace attune::ps
