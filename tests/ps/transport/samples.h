// One row message of each kind, and of the ways they differ on the wire.
#pragma once

#include <vector>

#include "ps/core/protocol/messages.h"

namespace attune::ps {

std::vector<float> Ramp(size_t count);
RowBatch SomeRows(size_t rows, size_t length);
Records SomeRecords();
std::vector<Message> OneOfEach();

}  // namespace attune::ps
