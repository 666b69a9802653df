#include "ps/core/worker/worker_inbox.h"

#include "ps/core/protocol/limits.h"

namespace attune::ps {

WorkerInbox::Turn WorkerInbox::TurnOf(const Received& input, MonotonicTime now) const {
  if (!IsRowMessage(input.message)) return Turn::kNow;
  if (!IsAnswer(input.message)) {
    if (!cluster_.admitted()) return Turn::kNever;
    return lease_.Valid(now) ? Turn::kNow : Turn::kUnderLease;  // others may have taken its place
  }
  // Nothing sent under a map is handled under an older one.
  if (MapVersionOf(input.message) > cluster_.map().version) return Turn::kUnderNewerMap;
  return cluster_.map().Contains(input.from) ? Turn::kNow : Turn::kNever;
}

void WorkerInbox::Keep(Received input, Turn turn) {
  if (turn == Turn::kUnderLease) return fenced_.Keep(std::move(input));
  if (held_.size() < kHeldMessagesMax) held_.push_back(std::move(input));
}

}  // namespace attune::ps
