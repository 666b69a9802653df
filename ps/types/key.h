// The name of a row.
#pragma once

#include <cstdint>

namespace attune::ps {

using Key = uint64_t;  // 64-bit row id, chosen by the program

}  // namespace attune::ps
