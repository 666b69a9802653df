// Collects what a watch delivers, for tests that wait for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "operator/kube/api.h"

namespace attune::kube {

class SignalLog {
 public:
  std::function<void(WatchSignal)> Handler() {
    return [this](WatchSignal signal) {
      std::lock_guard lock(mutex_);
      signals_.push_back(std::move(signal));
      changed_.notify_all();
    };
  }
  // Waits until `done` holds for all signals so far; false at the deadline.
  bool WaitUntil(const std::function<bool(const std::vector<WatchSignal>&)>& done,
                 std::chrono::seconds timeout = std::chrono::seconds(20)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] { return done(signals_); });
  }
  bool WaitForChanges(size_t count) {
    return WaitUntil([count](const auto& signals) { return Changes(signals).size() >= count; });
  }
  std::vector<WatchSignal> All() {
    std::lock_guard lock(mutex_);
    return signals_;
  }
  // "added a", "modified a", "deleted a": in order, without bookmarks and ends.
  std::vector<std::string> Changes() { return Changes(All()); }

  static std::vector<std::string> Changes(const std::vector<WatchSignal>& signals) {
    std::vector<std::string> changes;
    for (const WatchSignal& signal : signals) {
      std::string name(Name(signal.object));
      if (signal.kind == WatchSignal::Kind::kAdded) changes.push_back("added " + name);
      if (signal.kind == WatchSignal::Kind::kModified) changes.push_back("modified " + name);
      if (signal.kind == WatchSignal::Kind::kDeleted) changes.push_back("deleted " + name);
    }
    return changes;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<WatchSignal> signals_;
};

}  // namespace attune::kube
