// Control groups of the kernel, versions 1 and 2: which group a process is in, what the group may use and what it has
// used. Text that is not there, or not of the form of the kernel's cgroup-v1 and cgroup-v2 pages, is no limit, and no
// usage: neither is guessed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace attune {

inline constexpr char kCgroupMount[] = "/sys/fs/cgroup";
inline constexpr char kOwnCgroups[] = "/proc/self/cgroup";

// --- What the files say. Pure; absent files are "".

// /proc/<pid>/cgroup: path by controller ("memory", "cpu", "cpuacct", ...); "" is the one of version 2.
using CgroupPaths = std::map<std::string, std::string>;
CgroupPaths ParseCgroupMembership(std::string_view text);

struct CgroupLimits {
  uint64_t memory_bytes = 0;     // 0: none
  double cpu_cores = 0;          // 0: none
  double throttled_seconds = 0;  // since the group exists; 0 when not known
};
// Version 2: one level; a limit of an ancestor holds too, so combine levels with Tighter.
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

// --- Reading them. `mount` is where the control groups are, kCgroupMount outside of tests.

// The groups of a process, from its /proc/<pid>/cgroup.
CgroupPaths ReadCgroupPaths(const std::filesystem::path& file);
// Whether version 2 is mounted there with its controllers.
bool IsCgroupV2(const std::filesystem::path& mount);
// The limits that hold for the processes of these groups, with those of the groups above them.
CgroupLimits ReadCgroupLimits(const std::filesystem::path& mount, const CgroupPaths& paths);
// What the pod has used whose container is in these groups, and its limits: the level above the container's. nullopt
// where the container runtime does not show it.
struct CgroupReading {
  CgroupUsage usage;
  CgroupLimits limits;
};
std::optional<CgroupReading> ReadPodCgroup(const std::filesystem::path& mount, const CgroupPaths& paths);
// Bytes that the processes of this group hold, without file pages that the kernel can drop at once; nothing when it is
// not known.
std::optional<uint64_t> ReadMemoryInUse(const std::filesystem::path& group);
// How many processes of this group the kernel has killed for its memory limit; 0 when not known.
uint64_t ReadOutOfMemoryKills(const std::filesystem::path& group);

}  // namespace attune
