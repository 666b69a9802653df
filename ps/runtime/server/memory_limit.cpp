#include "ps/runtime/server/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/os/file.h"

namespace attune::ps {
namespace {

constexpr char kRoot[] = "/sys/fs/cgroup";
constexpr char kLimitV1[] = "/sys/fs/cgroup/memory/memory.limit_in_bytes";
constexpr uint64_t kNoLimitV1 = uint64_t{1} << 60;  // version 1 writes a huge number for "none"
constexpr uint64_t kRestMin = uint64_t{64} << 20;
constexpr uint64_t kRestShare = 8;

std::string Content(const std::filesystem::path& path) {
  auto content = ReadFile(path, 1 << 16);
  return content.ok() ? *std::move(content) : std::string();
}

// 0 means none.
uint64_t Lower(uint64_t a, uint64_t b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

}  // namespace

uint64_t LimitOfGroup(std::string_view content) {
  uint64_t limit = 0;
  const auto parsed = std::from_chars(content.data(), content.data() + content.size(), limit);
  return parsed.ec != std::errc() || limit >= kNoLimitV1 ? 0 : limit;
}

std::string_view GroupOfProcess(std::string_view proc_self_cgroup) {
  constexpr std::string_view kVersion2 = "0::";
  while (!proc_self_cgroup.empty()) {
    const std::string_view line = proc_self_cgroup.substr(0, proc_self_cgroup.find('\n'));
    if (line.starts_with(kVersion2)) return line.substr(kVersion2.size());
    proc_self_cgroup.remove_prefix(std::min(proc_self_cgroup.size(), line.size() + 1));
  }
  return {};
}

uint64_t LimitOfGroups(const std::filesystem::path& root, std::string_view group) {
  uint64_t limit = LimitOfGroup(Content(root / "memory.max"));
  std::filesystem::path at = root;
  for (const std::filesystem::path& part : std::filesystem::path(group).relative_path()) {
    at /= part;
    limit = Lower(limit, LimitOfGroup(Content(at / "memory.max")));
  }
  return limit;
}

uint64_t AvailableMemory() {
  const auto pages = static_cast<uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 1L));
  const auto page = static_cast<uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 1L));
  // A container sees its own group as the root of the hierarchy; a process outside of containers has a path below it.
  const uint64_t limit =
      Lower(LimitOfGroups(kRoot, GroupOfProcess(Content("/proc/self/cgroup"))), LimitOfGroup(Content(kLimitV1)));
  return Lower(pages * page, limit);
}

uint64_t MemoryForTables(uint64_t available) {
  const uint64_t rest = std::max(kRestMin, available / kRestShare);
  return available > 2 * rest ? available - rest : available / 2;
}

}  // namespace attune::ps
