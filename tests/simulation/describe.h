// Messages and maps as one line, for histories that people read.
#pragma once

#include <string>

#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps::simulation {

std::string Describe(const Message& message);
std::string Describe(const ShardMap& map);

}  // namespace attune::ps::simulation
