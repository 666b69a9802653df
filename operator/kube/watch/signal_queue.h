// Signals of a watch on their way to the one thread that handles them, which waits here. Bounded: when changes come
// faster than they are handled, the queue says once that the watch is broken, and takes nothing until it is cleared.
//
// Thread-safe.
#pragma once

#include <deque>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/time_source.h"
#include "operator/kube/api.h"

namespace attune::kube {

class SignalQueue {
 public:
  static constexpr size_t kSignalsMax = 10'000;

  // `plural`: of what is watched, for messages.
  explicit SignalQueue(std::string plural) : plural_(std::move(plural)) {}

  void Put(WatchSignal signal);
  // Waits until there are signals, Stop was called, or `timeout` is over. In the order in which they were put in.
  std::deque<WatchSignal> TakeAll(Duration timeout);
  // Drops what belongs to a watch that is over, and takes signals again.
  void Clear();

  // Waits end, now and later.
  void Stop();
  bool stopping() const;

 private:
  const std::string plural_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<WatchSignal> signals_ ABSL_GUARDED_BY(mutex_);
  bool overflowed_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace attune::kube
