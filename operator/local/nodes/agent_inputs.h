// What other threads hand to the node agent's thread, and its sleep until there is something to do.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "base/mutex.h"
#include "base/os/file_descriptor.h"
#include "base/time_source.h"

namespace attune::local {

class AgentInputs {
 public:
  AgentInputs();

  // Any thread. Ends the agent's sleep.
  void Post(std::function<void()> input);
  void Wake();
  // The agent's thread: runs what was posted, in order.
  void Run();
  // Sleeps until there is an input, one of `descriptors` is readable or `wait` is over.
  void Sleep(const std::vector<int>& descriptors, std::chrono::milliseconds wait);

 private:
  const FileDescriptor wake_;
  Mutex mutex_;
  std::deque<std::function<void()>> inputs_ ABSL_GUARDED_BY(mutex_);  // of a pod one or two per change and probe
};

}  // namespace attune::local
