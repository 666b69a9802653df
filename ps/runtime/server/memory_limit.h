// How much memory this process may have: what its container is given, or the machine. A server bounds its tables by it,
// so that new rows are refused with words instead of the process being killed by the kernel without any.
#pragma once

#include <cstdint>

namespace attune::ps {

// The lowest of all that apply to this process; never 0.
uint64_t AvailableMemory();
// What tables may take of it: the rest is for messages on their way, the program itself and what the allocator wastes.
uint64_t MemoryForTables(uint64_t available);
// What tables may take now: `fixed`, or with 0 what this process is given, which a resize of its pod changes.
uint64_t TableMemory(uint64_t fixed);

}  // namespace attune::ps
