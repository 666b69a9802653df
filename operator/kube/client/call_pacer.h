// The waiting around a CallLine. Thread-safe.
#pragma once

#include <optional>

#include "base/mutex.h"
#include "base/status.h"
#include "operator/kube/client/call_line.h"

namespace attune::kube {

// `time` must outlive it.
class CallPacer {
 public:
  CallPacer(CallLimit limit, const TimeSource& time);

  // Waits until a call may be sent, one of the line's end or, after a 429, the same again. Unavailable, at once, when
  // that will be after `deadline`; nothing was sent then, and the status says when to come back (RetryAfter).
  StatusOr<CallLine::Ticket> Wait(MonotonicTime deadline, std::optional<CallLine::Ticket> again = std::nullopt);
  // The server answered 429 and asked to be left alone for so long.
  void CloseFor(Duration time);

 private:
  Status TooLate(MonotonicTime turn, MonotonicTime now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const CallLimit limit_;
  const TimeSource& time_;
  mutable Mutex mutex_;
  CondVar changed_;
  CallLine line_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attune::kube
