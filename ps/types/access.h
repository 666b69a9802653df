// What a program is going to do with rows that it announces.
#pragma once

#include <cstdint>

namespace attune::ps {

enum class Access : uint8_t { kRead, kWrite, kReadWrite };

}  // namespace attune::ps
