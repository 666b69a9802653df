// Objects the node agent writes about itself: the Node, and Events about pods that cannot start.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/local/api/memory_api.h"

namespace attune::local {

// The hostname as a DNS name; "localhost" when it is none.
std::string DefaultNodeName();
// What pods may ask for together: the cores and the memory of this machine.
struct NodeCapacity {
  unsigned cores = 1;
  uint64_t memory_bytes = 0;
};
NodeCapacity CapacityOfThisMachine();
// Creates the Node, with that as its capacity, and says that it is ready.
Status RegisterNode(MemoryApi& api, const std::string& name);
// Best effort: a log line when it cannot be recorded.
void RecordPodWarning(MemoryApi& api, const kube::Json& pod, const std::string& node, const std::string& reason,
                      const std::string& note, WallTime now);

}  // namespace attune::local
