// Control messages with every field set to something: each must come back from its protobuf form, and is where the
// fuzzer of the codec begins.
#pragma once

#include <vector>

#include "ps/core/protocol/messages.h"

namespace attune::ps {

ShardMap SomeMap();
TableSpec SomeSpec(Optimizer optimizer, Initializer initializer);
CoordinatorRecord SomeRecord();

std::vector<Message> MessagesOfNodes();
std::vector<Message> MessagesOfCoordinators();

}  // namespace attune::ps
