#include "operator/local/nodes/agent_inputs.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace attune::local {

AgentInputs::AgentInputs() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void AgentInputs::Wake() {
  const uint64_t one = 1;
  if (write(wake_.get(), &one, sizeof one) < 0) return;  // full means awake already
}

void AgentInputs::Post(std::function<void()> input) {
  {
    const MutexLock lock(mutex_);
    inputs_.push_back(std::move(input));
  }
  Wake();
}

void AgentInputs::Run() {
  std::deque<std::function<void()>> inputs;
  {
    const MutexLock lock(mutex_);
    inputs.swap(inputs_);
  }
  for (const auto& input : inputs) input();
}

void AgentInputs::Sleep(const std::vector<int>& descriptors, std::chrono::milliseconds wait) {
  std::vector<pollfd> waits{{wake_.get(), POLLIN, 0}};
  for (const int descriptor : descriptors) waits.push_back({descriptor, POLLIN, 0});
  poll(waits.data(), waits.size(), static_cast<int>(wait.count()));
  uint64_t count = 0;
  if (read(wake_.get(), &count, sizeof count) < 0) return;  // another descriptor woke us
}

}  // namespace attune::local
