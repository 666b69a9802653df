// Turns termination signals into a call on an ordinary thread, where locks and logs are allowed.
#pragma once

#include <functional>
#include <memory>
#include <vector>

namespace attune::ps {

class TerminationWatcher {
 public:
  // Calls `on_signal` (with the signal's number) on a thread of its own, for every arrival of one of `signals`. Several
  // watchers may live at once; each is called. A signal's previous handler returns when its last watcher ends.
  static std::unique_ptr<TerminationWatcher> Install(std::vector<int> signals, std::function<void(int)> on_signal);
  virtual ~TerminationWatcher() = default;
};

}  // namespace attune::ps
