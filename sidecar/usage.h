// CPU, memory and network of a process and its descendants, out of the text of /proc files; control groups are in
// base/os/cgroup.h. Pure functions over text; usage_meter.h reads the files. Format: proc(5). Text that does not have
// the expected form gives nullopt: usage is then not reported, never guessed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace attune::sidecar {

// /proc/<pid>/stat, /proc/<pid>/task/<tid>/children

struct ProcessStat {
  int pid = 0;
  int parent = 0;
  uint64_t cpu_ticks = 0;  // user and system, of the process and of its children that ended and were waited for
  uint64_t resident_pages = 0;
  uint64_t start_ticks = 0;  // since boot; distinguishes a process from a later one of the same number
};
std::optional<ProcessStat> ParseProcessStat(std::string_view text);
std::vector<int> ParseChildren(std::string_view text);

struct TreeUsage {
  uint64_t cpu_ticks = 0;
  uint64_t resident_pages = 0;  // pages that processes share count once for each
};
// Sum over `root` and everything below it among `processes`; nullopt when `root` is not there. A parent whose child has
// just ended has taken over its ticks, so the sum does not fall.
std::optional<TreeUsage> SumTree(int root, const std::vector<ProcessStat>& processes);

// /proc/<pid>/net/dev

struct NetworkTotals {
  uint64_t received_bytes = 0;
  uint64_t sent_bytes = 0;
};
// The sum over all interfaces but loopback, since each of them exists.
std::optional<NetworkTotals> ParseNetworkTotals(std::string_view text);

}  // namespace attune::sidecar
