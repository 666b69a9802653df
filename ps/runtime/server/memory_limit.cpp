#include "ps/runtime/server/memory_limit.h"

#include <unistd.h>

#include <algorithm>

#include "base/os/cgroup.h"

namespace attune::ps {
namespace {

constexpr uint64_t kRestMin = uint64_t{64} << 20;
constexpr uint64_t kRestShare = 8;

}  // namespace

uint64_t AvailableMemory() {
  const auto pages = static_cast<uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 1L));
  const auto page = static_cast<uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 1L));
  const uint64_t limit = ReadCgroupLimits(kCgroupMount, ReadCgroupPaths(kOwnCgroups)).memory_bytes;
  return limit == 0 ? pages * page : std::min(pages * page, limit);
}

uint64_t MemoryForTables(uint64_t available) {
  const uint64_t rest = std::max(kRestMin, available / kRestShare);
  return available > 2 * rest ? available - rest : available / 2;
}

uint64_t TableMemory(uint64_t fixed) { return fixed > 0 ? fixed : MemoryForTables(AvailableMemory()); }

}  // namespace attune::ps
