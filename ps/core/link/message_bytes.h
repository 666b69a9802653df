// What a message weighs where queues are bounded by bytes.
#pragma once

#include <cstddef>

#include "ps/core/protocol/messages.h"

namespace attune::ps {

// About what it takes in memory and on a connection.
size_t BytesOf(const Message& message);

}  // namespace attune::ps
