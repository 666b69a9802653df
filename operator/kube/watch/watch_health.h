// What other threads may know of a reflector's thread, for health, readiness and messages to people: where its loop is,
// what its watcher has counted, and why it failed last. One thread writes.
//
// Thread-safe.
#pragma once

#include <cstdint>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/watch/watcher.h"

namespace attune::kube {

class WatchHealth {
 public:
  struct Turn {
    uint64_t number = 0;          // rises with every step of the loop
    MonotonicTime waits_until{};  // in the past while it works
  };

  void BeginWait(const WatcherCounts& counts, MonotonicTime until);
  void EndWait();
  // How a list or a watch ended, or that something was heard. True for a failure that is another one than before.
  bool Note(const Status& status);

  WatcherCounts counts() const;
  Turn turn() const;
  // OK after something was heard.
  Status last_failure() const;

 private:
  mutable Mutex mutex_;
  WatcherCounts counts_ ABSL_GUARDED_BY(mutex_);
  Turn turn_ ABSL_GUARDED_BY(mutex_);
  Status last_failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attune::kube
