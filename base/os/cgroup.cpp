#include "base/os/cgroup.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/os/file.h"
#include "base/os/kernel_text.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kTextBytesMax = 64 << 10;
constexpr int kLevelsMax = 32;
// Version 1 writes "no limit" as the largest multiple of the page size.
constexpr uint64_t kUnlimitedFrom = uint64_t{1} << 60;

// "" when it cannot be read: most of these files exist on some kernels and in some containers only.
std::string Text(const fs::path& path) {
  StatusOr<std::string> text = ReadFile(path, kTextBytesMax);
  return text.ok() ? *std::move(text) : "";
}

// A container sees its own group at the mount point, though /proc names the path on the machine.
fs::path GroupDirectory(const fs::path& mount, const std::string& path, const char* file) {
  const fs::path full = mount / fs::path(path).relative_path();
  std::error_code error;
  return fs::exists(full / file, error) ? full : mount;
}

CgroupLimits ReadLimitsV2(const fs::path& mount, const std::string& path) {
  CgroupLimits limits;
  fs::path level = GroupDirectory(mount, path, "cgroup.controllers");
  for (int i = 0; i < kLevelsMax; ++i) {
    const std::string memory = Text(level / "memory.max"), cpu = Text(level / "cpu.max"),
                      stat = Text(level / "cpu.stat");
    const CgroupLimits here = ParseCgroupV2({.memory_max = memory, .cpu_max = cpu, .cpu_stat = stat});
    limits = i == 0 ? here : Tighter(limits, here);
    if (level == mount) break;
    level = level.parent_path();
  }
  return limits;
}

CgroupLimits ReadLimitsV1(const fs::path& memory_group, const fs::path& cpu_group) {
  const std::string memory = Text(memory_group / "memory.stat"), quota = Text(cpu_group / "cpu.cfs_quota_us"),
                    period = Text(cpu_group / "cpu.cfs_period_us"), stat = Text(cpu_group / "cpu.stat");
  return ParseCgroupV1({.memory_stat = memory, .cpu_quota_us = quota, .cpu_period_us = period, .cpu_stat = stat});
}

std::string PathOf(const CgroupPaths& paths, const char* controller) {
  const auto path = paths.find(controller);
  return path == paths.end() ? "" : path->second;
}

}  // namespace

CgroupPaths ParseCgroupMembership(std::string_view text) {
  CgroupPaths paths;
  for (const std::string_view line : SplitText(text, "\n")) {  // 4:memory:/path, 3:cpu,cpuacct:/path, 0::/path
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (controllers.empty()) paths[""] = path;
    for (const std::string_view controller : SplitText(controllers, ",")) paths[std::string(controller)] = path;
  }
  return paths;
}

CgroupLimits ParseCgroupV2(const CgroupV2Text& text) {
  CgroupLimits limits;
  limits.memory_bytes = ParseInteger<uint64_t>(text.memory_max).value_or(0);  // "max" is not a number: no limit
  if (const auto words = SplitText(text.cpu_max, " \n"); words.size() == 2) {
    const auto quota = ParseInteger<uint64_t>(words[0]);
    const auto period = ParseInteger<uint64_t>(words[1]);
    if (quota && period && *period > 0) limits.cpu_cores = static_cast<double>(*quota) / static_cast<double>(*period);
  }
  limits.throttled_seconds = 1e-6 * static_cast<double>(NumberOfKey(text.cpu_stat, "throttled_usec").value_or(0));
  return limits;
}

CgroupLimits ParseCgroupV1(const CgroupV1Text& text) {
  CgroupLimits limits;
  const uint64_t memory = NumberOfKey(text.memory_stat, "hierarchical_memory_limit").value_or(0);
  limits.memory_bytes = memory >= kUnlimitedFrom ? 0 : memory;
  const auto quota = ParseInteger<int64_t>(text.cpu_quota_us);  // -1: none
  const auto period = ParseInteger<int64_t>(text.cpu_period_us);
  if (quota && period && *quota > 0 && *period > 0) {
    limits.cpu_cores = static_cast<double>(*quota) / static_cast<double>(*period);
  }
  limits.throttled_seconds = 1e-9 * static_cast<double>(NumberOfKey(text.cpu_stat, "throttled_time").value_or(0));
  return limits;
}

CgroupLimits Tighter(const CgroupLimits& inner, const CgroupLimits& outer) {
  const auto tighter = [](auto a, auto b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); };
  return {.memory_bytes = tighter(inner.memory_bytes, outer.memory_bytes),
          .cpu_cores = tighter(inner.cpu_cores, outer.cpu_cores),
          .throttled_seconds = inner.throttled_seconds};
}

std::optional<CgroupUsage> ParseCgroupV2Usage(std::string_view cpu_stat, std::string_view memory_current,
                                              std::string_view memory_stat) {
  const auto cpu = NumberOfKey(cpu_stat, "usage_usec");
  const auto memory = ParseInteger<uint64_t>(memory_current);
  if (!cpu || !memory) return std::nullopt;
  const uint64_t droppable = std::min(*memory, NumberOfKey(memory_stat, "inactive_file").value_or(0));
  return CgroupUsage{.cpu_seconds = 1e-6 * static_cast<double>(*cpu), .memory_bytes = *memory - droppable};
}

std::optional<CgroupUsage> ParseCgroupV1Usage(std::string_view cpuacct_usage, std::string_view memory_usage,
                                              std::string_view memory_stat) {
  const auto cpu = ParseInteger<uint64_t>(cpuacct_usage);
  const auto memory = ParseInteger<uint64_t>(memory_usage);
  if (!cpu || !memory) return std::nullopt;
  const uint64_t droppable = std::min(*memory, NumberOfKey(memory_stat, "total_inactive_file").value_or(0));
  return CgroupUsage{.cpu_seconds = 1e-9 * static_cast<double>(*cpu), .memory_bytes = *memory - droppable};
}

CgroupPaths ReadCgroupPaths(const fs::path& file) { return ParseCgroupMembership(Text(file)); }

bool IsCgroupV2(const fs::path& mount) {
  std::error_code error;
  return fs::exists(mount / "cgroup.controllers", error);
}

CgroupLimits ReadCgroupLimits(const fs::path& mount, const CgroupPaths& paths) {
  if (const auto v2 = paths.find(""); v2 != paths.end() && IsCgroupV2(mount)) return ReadLimitsV2(mount, v2->second);
  return ReadLimitsV1(GroupDirectory(mount / "memory", PathOf(paths, "memory"), "memory.stat"),
                      GroupDirectory(mount / "cpu", PathOf(paths, "cpu"), "cpu.cfs_quota_us"));
}

std::optional<CgroupReading> ReadPodCgroup(const fs::path& mount, const CgroupPaths& paths) {
  const auto pod = [&](const char* controller) -> fs::path {
    const std::string path = PathOf(paths, controller);
    if (path.find("kubepods") == std::string::npos) return {};
    return mount / controller / fs::path(path).relative_path().parent_path();
  };
  if (const fs::path group = pod(""); !group.empty()) {
    const auto usage =
        ParseCgroupV2Usage(Text(group / "cpu.stat"), Text(group / "memory.current"), Text(group / "memory.stat"));
    if (usage) return CgroupReading{*usage, ReadLimitsV2(mount, fs::relative(group, mount).string())};
  }
  const fs::path memory = pod("memory"), cpuacct = pod("cpuacct"), cpu = pod("cpu");
  if (memory.empty() || cpuacct.empty()) return std::nullopt;
  const auto usage = ParseCgroupV1Usage(Text(cpuacct / "cpuacct.usage"), Text(memory / "memory.usage_in_bytes"),
                                        Text(memory / "memory.stat"));
  if (!usage) return std::nullopt;
  return CgroupReading{*usage, ReadLimitsV1(memory, cpu)};
}

std::optional<uint64_t> ReadMemoryInUse(const fs::path& group) {
  struct Names {
    const char *in_use, *droppable;
  };
  for (const Names& names : {Names{"memory.usage_in_bytes", "total_inactive_file"},  // of version 1, of version 2
                             Names{"memory.current", "inactive_file"}}) {
    const auto in_use = ParseInteger<uint64_t>(Text(group / names.in_use));
    if (!in_use) continue;
    return *in_use - std::min(*in_use, NumberOfKey(Text(group / "memory.stat"), names.droppable).value_or(0));
  }
  return std::nullopt;
}

uint64_t ReadOutOfMemoryKills(const fs::path& group) {
  for (const char* file : {"memory.oom_control", "memory.events"}) {  // of version 1, of version 2
    if (const auto kills = NumberOfKey(Text(group / file), "oom_kill")) return *kills;
  }
  return 0;
}

}  // namespace attune
