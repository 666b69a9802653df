// CPU and memory of a process and its descendants, and the limits set on them, out of the text of /proc and cgroup
// files. Pure functions over text; usage_meter.h reads the files. Formats: proc(5) and the kernel's cgroup-v1 and
// cgroup-v2 pages. Text that does not have the expected form gives nullopt: usage is then not reported, never guessed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::sidecar {

// --- /proc/<pid>/stat, /proc/<pid>/task/<tid>/children

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

// --- cgroups

// /proc/<pid>/cgroup: path by controller ("memory", "cpu", "cpuacct", ...); "" is the one of version 2.
std::map<std::string, std::string> ParseCgroupMembership(std::string_view text);

struct CgroupLimits {
  uint64_t memory_bytes = 0;     // 0: none
  double cpu_cores = 0;          // 0: none
  double throttled_seconds = 0;  // since the group exists; 0 when not reported
};
// Version 2: one level; a limit of an ancestor holds too, so combine levels with Tighter. Absent files: "".
struct CgroupV2Text {
  std::string_view memory_max, cpu_max, cpu_stat;
};
CgroupLimits ParseCgroupV2(const CgroupV2Text& text);
// Version 1: memory.stat has the limit of all ancestors together.
struct CgroupV1Text {
  std::string_view memory_stat, cpu_quota_us, cpu_period_us, cpu_stat;
};
CgroupLimits ParseCgroupV1(const CgroupV1Text& text);
// The tighter of each limit; throttling is taken from `inner`.
CgroupLimits Tighter(const CgroupLimits& inner, const CgroupLimits& outer);

struct CgroupUsage {
  double cpu_seconds = 0;
  uint64_t memory_bytes = 0;  // without file pages the kernel can drop at once
};
std::optional<CgroupUsage> ParseCgroupV2Usage(std::string_view cpu_stat, std::string_view memory_current,
                                              std::string_view memory_stat);
std::optional<CgroupUsage> ParseCgroupV1Usage(std::string_view cpuacct_usage, std::string_view memory_usage,
                                              std::string_view memory_stat);

}  // namespace attune::sidecar
