// Control messages to and from their protobuf forms (proto/attune/v1/coordinator.proto). Decoding believes nothing:
// every list, name and role is checked against ps/core/protocol/limits.h. Only .cpp files include this header; it
// brings protobuf.
#pragma once

#include "attune/v1/coordinator.pb.h"
#include "base/status.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

// InvalidArgument when the message does not travel in that direction.
StatusOr<v1::NodeMessage> ToNodeMessage(const Message& message);
StatusOr<v1::CoordinatorMessage> ToCoordinatorMessage(const Message& message);

StatusOr<Message> FromNodeMessage(const v1::NodeMessage& message);
StatusOr<Message> FromCoordinatorMessage(const v1::CoordinatorMessage& message);

}  // namespace attune::ps
