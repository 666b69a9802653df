// Turns signals into a call on an ordinary thread, where locks and logs are allowed. What must happen inside of a
// handler (a terminal restored before an abort) does not belong here.
#pragma once

#include <functional>
#include <memory>
#include <vector>

namespace attune {

class SignalWatcher {
 public:
  // Calls `on_signal` (with the signal's number) on a thread of its own, for every arrival of one of `signals`. Several
  // watchers may live at once; each is called. A signal's previous handler returns when its last watcher ends. Null
  // when the process has no descriptors left, or too many watchers.
  static std::unique_ptr<SignalWatcher> Install(std::vector<int> signals, std::function<void(int)> on_signal);
  virtual ~SignalWatcher() = default;
};

}  // namespace attune
