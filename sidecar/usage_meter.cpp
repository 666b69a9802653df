#include "sidecar/usage_meter.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/os/file.h"

namespace attune::sidecar {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kTextBytesMax = 64 << 10;
constexpr size_t kProcessesMax = 4096;

// "" when it cannot be read: processes end, and some of these files exist on some kernels only.
std::string Text(const fs::path& path) {
  StatusOr<std::string> text = ReadFile(path, kTextBytesMax);
  return text.ok() ? *std::move(text) : "";
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

void SetNetwork(const std::optional<NetworkTotals>& before, const std::optional<NetworkTotals>& after,
                v1::ProcessUsage& usage) {
  if (!before || !after) return;
  // An interface that has gone takes its count along.
  const auto since = [](uint64_t then, uint64_t now) { return now >= then ? now - then : 0; };
  usage.set_network_received_bytes(since(before->received_bytes, after->received_bytes));
  usage.set_network_sent_bytes(since(before->sent_bytes, after->sent_bytes));
}

}  // namespace

v1::ProcessUsage UsageBetween(const UsageReading& before, const UsageReading& after, double seconds) {
  v1::ProcessUsage usage;
  if (before.identity == after.identity) {
    usage.set_cpu_seconds(std::max(0.0, after.cpu_seconds - before.cpu_seconds));
    usage.set_throttled_seconds(std::max(0.0, after.limits.throttled_seconds - before.limits.throttled_seconds));
    usage.set_window_seconds(seconds);
    SetNetwork(before.network, after.network, usage);
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
                      .limits = ReadCgroupLimits(mount, ReadCgroupPaths(own / "cgroup")),
                      .network = ParseNetworkTotals(Text(own / "net" / "dev")),
                      .identity = top->start_ticks + 1};
}

std::optional<UsageReading> UsageMeter::ReadPodCgroup() const {
  const auto pod = attune::ReadPodCgroup(options_.cgroup, ReadCgroupPaths(options_.proc / "self" / "cgroup"));
  if (!pod) return std::nullopt;
  return UsageReading{.cpu_seconds = pod->usage.cpu_seconds,
                      .memory_bytes = pod->usage.memory_bytes,
                      .limits = pod->limits,
                      .network = ParseNetworkTotals(Text(options_.proc / "self" / "net" / "dev")),
                      .identity = 1};
}

}  // namespace attune::sidecar
