// How much memory this process may have: what its container is given, or the machine. A server bounds its tables by it,
// so that new rows are refused with words instead of the process being killed by the kernel without any.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace attune::ps {

// The limit written in a control group's memory.max (version 2) or memory.limit_in_bytes (version 1); 0: none.
uint64_t LimitOfGroup(std::string_view content);
// The process' group in version 2's hierarchy, from /proc/self/cgroup: "/a/b"; empty when there is none.
std::string_view GroupOfProcess(std::string_view proc_self_cgroup);
// The lowest limit of a group and those above it, below `root`; 0: none.
uint64_t LimitOfGroups(const std::filesystem::path& root, std::string_view group);

// The lowest of all that apply to this process; never 0.
uint64_t AvailableMemory();
// What tables may take of it: the rest is for messages on their way, the program itself and what the allocator wastes.
uint64_t MemoryForTables(uint64_t available);

}  // namespace attune::ps
