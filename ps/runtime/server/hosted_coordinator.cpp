#include "ps/runtime/server/hosted_coordinator.h"

#include "base/log.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

std::shared_ptr<CoordinatorRuntime> HostedCoordinator::here() const {
  const MutexLock lock(mutex_);
  return coordinator_ == nullptr || coordinator_->superseded() ? nullptr : coordinator_;
}

void HostedCoordinator::Put(std::shared_ptr<CoordinatorRuntime> coordinator) {
  const MutexLock lock(mutex_);
  coordinator_ = std::move(coordinator);
}

std::optional<CoordinatorRecord> HostedCoordinator::EndBelow(uint32_t term) {
  std::shared_ptr<CoordinatorRuntime> old;
  {
    const MutexLock lock(mutex_);
    if (coordinator_ == nullptr || coordinator_->term() >= term) return std::nullopt;
    old = std::exchange(coordinator_, nullptr);
  }
  std::optional<CoordinatorRecord> record = old->Supersede();
  log::Info("no longer the job's coordinator", {{"term", old->term()}});
  closing_->Post([old = std::move(old)]() mutable { old.reset(); });
  return record;
}

void HostedCoordinator::End() {
  closing_.reset();
  std::shared_ptr<CoordinatorRuntime> last;
  {
    const MutexLock lock(mutex_);
    last = std::exchange(coordinator_, nullptr);
  }
}

void HostedCoordinator::Execute(const Command& command, const AnswerCommand& answer) {
  if (const std::shared_ptr<CoordinatorRuntime> coordinator = here()) return Execute(*coordinator, command, answer);
  if (const auto* gone = std::get_if<NodeGone>(&command); gone != nullptr && early_reports_.size() < kCommandsMax) {
    early_reports_.emplace_back(*gone, answer);
    return;
  }
  answer(Error(StatusCode::kFailedPrecondition, "this server does not run the job's coordinator"), "");
}

void HostedCoordinator::ExecuteEarly() {
  const std::shared_ptr<CoordinatorRuntime> coordinator = here();
  if (coordinator == nullptr) return;
  for (auto& [gone, waiting] : std::exchange(early_reports_, {})) Execute(*coordinator, gone, waiting);
}

void HostedCoordinator::Execute(CoordinatorRuntime& coordinator, Command command, const AnswerCommand& answer) const {
  if (auto* checkpoint = std::get_if<TakeCheckpoint>(&command);
      checkpoint != nullptr && checkpoint->directory.empty()) {
    checkpoint->directory = checkpoint_directory_;
  }
  constexpr Duration kCommandTimeout = std::chrono::minutes(2);  // below the operator's timeout (answer_timeout)
  coordinator.Execute(std::move(command), kCommandTimeout,
                      [answer](const CommandResult& result) { answer(result.status, result.text); });
}

}  // namespace attune::ps
