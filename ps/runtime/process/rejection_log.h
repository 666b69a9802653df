// Says in the log which messages of which nodes were ignored: the first of a node, the second, the fourth and so on, so
// that sending more of them fills no disk.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "base/mutex.h"
#include "ps/core/protocol/node_inputs.h"

namespace attune::ps {

class RejectionLog {
 public:
  void Log(std::span<const RejectedMessage> rejected);

 private:
  Mutex mutex_;
  std::map<NodeId, uint64_t> counts_ ABSL_GUARDED_BY(mutex_);  // by sender; those beyond the first kMembersMax together
};

}  // namespace attune::ps
