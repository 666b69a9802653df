#include "sidecar/relay/reconnect_backoff.h"

#include <algorithm>

namespace attune::sidecar {

void ReconnectBackoff::Hurry(MonotonicTime now) { at_ = std::min(at_, now); }

void ReconnectBackoff::NoteUnreachable() { wait_ = std::min(wait_, kBackoffUnreachableMax); }

void ReconnectBackoff::Schedule(bool lasted, MonotonicTime now) {
  if (lasted) wait_ = kFirstRetry;
  // Half of the wait is random, so that the sidecars of a large job do not come back all at once.
  at_ = now + std::chrono::duration_cast<Duration>(wait_ * (0.5 + 0.5 * random_.Uniform()));
  wait_ = lasted ? kBackoffMin : std::min(2 * wait_, kBackoffMax);
}

}  // namespace attune::sidecar
