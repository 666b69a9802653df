#include "sidecar/usage_meter.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace attune::sidecar {
namespace {

namespace fs = std::filesystem;

constexpr size_t kTextBytesMax = 64 << 10;
constexpr size_t kProcessesMax = 4096;
constexpr int kLevelsMax = 32;

// "" when it cannot be read: most of these files exist on some kernels and in some containers only.
std::string Text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "";
  std::string text(kTextBytesMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

std::vector<std::string> Names(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  return names;
}

// Follows the lists of children that the kernel keeps per thread.
std::vector<ProcessStat> ReadDescendants(const fs::path& proc, int root) {
  std::vector<ProcessStat> processes;
  std::set<int> seen;
  std::vector<int> open{root};
  while (!open.empty() && processes.size() < kProcessesMax) {
    const int pid = open.back();
    open.pop_back();
    if (!seen.insert(pid).second) continue;
    const fs::path directory = proc / std::to_string(pid);
    if (const auto stat = ParseProcessStat(Text(directory / "stat"))) processes.push_back(*stat);
    for (const std::string& thread : Names(directory / "task")) {
      for (const int child : ParseChildren(Text(directory / "task" / thread / "children"))) open.push_back(child);
    }
  }
  return processes;
}

// For kernels without those lists.
std::vector<ProcessStat> ReadAllProcesses(const fs::path& proc) {
  std::vector<ProcessStat> processes;
  for (const std::string& name : Names(proc)) {
    if (processes.size() == kProcessesMax) break;
    if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
    if (const auto stat = ParseProcessStat(Text(proc / name / "stat"))) processes.push_back(*stat);
  }
  return processes;
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

CgroupLimits ReadLimitsV1(const fs::path& mount, const std::map<std::string, std::string>& paths) {
  const auto group = [&](const char* controller, const char* file) {
    const auto path = paths.find(controller);
    return GroupDirectory(mount / controller, path == paths.end() ? "" : path->second, file);
  };
  const fs::path memory = group("memory", "memory.stat"), cpu = group("cpu", "cpu.cfs_quota_us");
  const std::string memory_stat = Text(memory / "memory.stat"), quota = Text(cpu / "cpu.cfs_quota_us"),
                    period = Text(cpu / "cpu.cfs_period_us"), stat = Text(cpu / "cpu.stat");
  return ParseCgroupV1({.memory_stat = memory_stat, .cpu_quota_us = quota, .cpu_period_us = period, .cpu_stat = stat});
}

CgroupLimits ReadLimits(const fs::path& mount, const std::map<std::string, std::string>& paths) {
  const auto v2 = paths.find("");
  std::error_code error;
  if (v2 != paths.end() && fs::exists(mount / "cgroup.controllers", error)) return ReadLimitsV2(mount, v2->second);
  return ReadLimitsV1(mount, paths);
}

}  // namespace

v1::ProcessUsage UsageBetween(const UsageReading& before, const UsageReading& after, double seconds) {
  v1::ProcessUsage usage;
  if (before.identity == after.identity) {
    usage.set_cpu_seconds(std::max(0.0, after.cpu_seconds - before.cpu_seconds));
    usage.set_throttled_seconds(std::max(0.0, after.limits.throttled_seconds - before.limits.throttled_seconds));
    usage.set_window_seconds(seconds);
  }
  usage.set_memory_bytes(after.memory_bytes);
  usage.set_memory_limit_bytes(after.limits.memory_bytes);
  usage.set_cpu_limit_cores(after.limits.cpu_cores);
  return usage;
}

void UsageMeter::Watch(int pid, MonotonicTime now) {
  pid_ = pid;
  last_ = Read();
  last_at_ = now;
}

std::optional<v1::ProcessUsage> UsageMeter::Measure(MonotonicTime now) {
  const std::optional<UsageReading> reading = Read();
  std::optional<v1::ProcessUsage> usage;
  if (reading) usage = UsageBetween(last_.value_or(UsageReading{}), *reading, Seconds(now - last_at_));
  last_ = reading;
  last_at_ = now;
  return usage;
}

std::optional<UsageReading> UsageMeter::Read() const { return pid_ > 0 ? ReadTree() : ReadPodCgroup(); }

std::optional<UsageReading> UsageMeter::ReadTree() const {
  const fs::path own = options_.proc / std::to_string(pid_);
  const auto top = ParseProcessStat(Text(own / "stat"));
  if (!top) return std::nullopt;
  std::error_code error;
  const bool lists = fs::exists(own / "task" / std::to_string(pid_) / "children", error);
  const auto tree = SumTree(pid_, lists ? ReadDescendants(options_.proc, pid_) : ReadAllProcesses(options_.proc));
  if (!tree) return std::nullopt;
  // The process may live in another container of the pod: its own view of the cgroup files is the one that counts.
  fs::path mount = own / "root" / options_.cgroup.relative_path();
  if (!fs::exists(mount, error)) mount = options_.cgroup;
  static const double ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  static const auto page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return UsageReading{.cpu_seconds = static_cast<double>(tree->cpu_ticks) / ticks_per_second,
                      .memory_bytes = tree->resident_pages * page_bytes,
                      .limits = ReadLimits(mount, ParseCgroupMembership(Text(own / "cgroup"))),
                      .identity = top->start_ticks + 1};
}

std::optional<UsageReading> UsageMeter::ReadPodCgroup() const {
  const auto paths = ParseCgroupMembership(Text(options_.proc / "self" / "cgroup"));
  const auto pod = [&](const std::string& controller) -> fs::path {  // the level above this container's
    const auto path = paths.find(controller);
    if (path == paths.end() || path->second.find("kubepods") == std::string::npos) return {};
    return options_.cgroup / controller / fs::path(path->second).relative_path().parent_path();
  };
  std::optional<CgroupUsage> usage;
  CgroupLimits limits;
  if (const fs::path group = pod(""); !group.empty()) {
    usage = ParseCgroupV2Usage(Text(group / "cpu.stat"), Text(group / "memory.current"), Text(group / "memory.stat"));
    if (usage) limits = ReadLimitsV2(options_.cgroup, fs::relative(group, options_.cgroup).string());
  }
  const fs::path memory = pod("memory"), cpuacct = pod("cpuacct"), cpu = pod("cpu");
  if (!usage && !memory.empty() && !cpuacct.empty()) {
    usage = ParseCgroupV1Usage(Text(cpuacct / "cpuacct.usage"), Text(memory / "memory.usage_in_bytes"),
                               Text(memory / "memory.stat"));
    const std::string memory_stat = Text(memory / "memory.stat"), quota = Text(cpu / "cpu.cfs_quota_us"),
                      period = Text(cpu / "cpu.cfs_period_us"), stat = Text(cpu / "cpu.stat");
    limits =
        ParseCgroupV1({.memory_stat = memory_stat, .cpu_quota_us = quota, .cpu_period_us = period, .cpu_stat = stat});
  }
  if (!usage) return std::nullopt;
  return UsageReading{
      .cpu_seconds = usage->cpu_seconds, .memory_bytes = usage->memory_bytes, .limits = limits, .identity = 1};
}

}  // namespace attune::sidecar
