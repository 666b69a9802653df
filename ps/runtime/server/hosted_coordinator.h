// The job's coordinator while this server runs it: one after the other, of rising terms. One that is superseded does
// nothing from then on, and ends on a thread of its own, because its threads and sockets may take a while. Commands of
// the operator are for the one at work.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "ps/checkpoint/background.h"
#include "ps/runtime/control/coordinator_runtime.h"
#include "ps/runtime/process/directives.h"

namespace attune::ps {

class HostedCoordinator {
 public:
  // `checkpoint_directory`: for checkpoints that are asked for without one.
  explicit HostedCoordinator(std::string checkpoint_directory)
      : checkpoint_directory_(std::move(checkpoint_directory)), closing_(std::make_unique<BackgroundThread>()) {}
  ~HostedCoordinator() { End(); }

  // Any thread. Null when there is none, or another one is obeyed.
  std::shared_ptr<CoordinatorRuntime> here() const;
  void Put(std::shared_ptr<CoordinatorRuntime> coordinator);
  // Supersedes one of an earlier term; what it knows is for its successor.
  std::optional<CoordinatorRecord> EndBelow(uint32_t term);
  // Waits until none is left. No other call may come.
  void End();

  // On the reporter's thread. A report that a process is gone may overtake the order to run the coordinator, and the
  // next one would come late: it waits for ExecuteEarly().
  void Execute(const Command& command, const AnswerCommand& answer);
  void ExecuteEarly();

 private:
  void Execute(CoordinatorRuntime& coordinator, Command command, const AnswerCommand& answer) const;

  const std::string checkpoint_directory_;
  mutable Mutex mutex_;
  std::shared_ptr<CoordinatorRuntime> coordinator_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<BackgroundThread> closing_;                      // of coordinators that have ended
  std::vector<std::pair<NodeGone, AnswerCommand>> early_reports_;  // of the reporter's thread
};

}  // namespace attune::ps
