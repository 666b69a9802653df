// Mappings that start on a huge page.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attune::ps {

inline constexpr uint64_t kHugePage = 2ULL << 20;

constexpr uint64_t RoundUpTo(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// Zeroed memory, or null when the system has none. `bytes` is a multiple of kHugePage; given back by munmap.
std::byte* MapAligned(uint64_t bytes);

}  // namespace attune::ps
