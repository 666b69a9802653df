#include "ps/runtime/process/rejection_log.h"

#include <bit>

#include "base/log.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

void RejectionLog::Log(std::span<const RejectedMessage> rejected) {
  for (const RejectedMessage& message : rejected) {
    uint64_t count = 0;
    {
      const MutexLock lock(mutex_);
      const bool full = counts_.size() >= kMembersMax && !counts_.contains(message.from);
      count = ++counts_[full ? NodeId() : message.from];
    }
    if (!std::has_single_bit(count)) continue;
    log::Warn("a message was ignored; its sender is of another release, or not what it says it is",
              {{"node", message.from.value()}, {"reason", message.why}, {"messages", count}});
  }
}

}  // namespace attune::ps
