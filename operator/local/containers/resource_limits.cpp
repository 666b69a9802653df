#include "operator/local/containers/resource_limits.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/log.h"
#include "base/os/cgroup.h"
#include "operator/kube/quantity.h"

namespace attune::local {
namespace {

constexpr std::string_view kPrefix = "attune-";
constexpr int64_t kCpuPeriodMicroseconds = 100000;
// Of whole pods: a fifth of that, unless their share of it would be below the least the kernel takes.
constexpr int64_t kPodPeriodMicroseconds = 20000, kQuotaMicrosecondsMin = 1000;
constexpr char kWhatToDo[] =
    "run attune as root, or in a scope of your own (systemd-run --user --scope -p Delegate=yes attune run ...)";

bool WriteText(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text << std::flush;
  return out.good();
}

void WarnOnce(const std::filesystem::path& where) {
  static std::atomic<bool> said = false;
  if (said.exchange(true)) return;
  log::Warn(
      std::string("resource limits of containers are not enforced: no right to make control groups; ") + kWhatToDo,
      {{"where", where.string()}});
}

// A killed platform cannot remove its groups; the next one does. Those in use refuse to go.
void RemoveLeftovers(const std::filesystem::path& parent) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || name.find('-', kPrefix.size()) == std::string::npos) continue;
    const pid_t platform = std::atoi(name.c_str() + kPrefix.size());
    if (platform <= 0 || kill(platform, 0) == 0 || errno != ESRCH) continue;
    RemoveLeftovers(entry.path());  // of a pod: the groups of its containers
    rmdir(entry.path().c_str());
  }
}

struct Setting {
  std::string file, value;
};

// Makes `directory` with these settings, within a parent that exists; removes it again when one is refused.
bool MakeGroup(const std::filesystem::path& directory, const std::vector<Setting>& settings) {
  std::error_code error;
  if (!std::filesystem::create_directory(directory, error) || error) return false;
  for (const Setting& setting : settings) {
    if (WriteText(directory / setting.file, setting.value)) continue;
    std::filesystem::remove(directory, error);
    return false;
  }
  return true;
}

// A group below this process's own, for `controller` (version 1) or for all ("", version 2). "": not permitted.
std::filesystem::path MakeOwnGroup(const ControlGroups& groups, const std::string& controller, const std::string& name,
                                   const std::vector<Setting>& settings) {
  const std::filesystem::path own = ReadCgroupPaths(groups.own)[controller];
  if (!controller.empty()) {
    const std::filesystem::path parent = groups.root / controller / own.relative_path();
    RemoveLeftovers(parent);
    return MakeGroup(parent / name, settings) ? parent / name : std::filesystem::path();
  }
  // A group with processes of its own passes no controllers on, so ours may have to stand beside it or higher up.
  for (std::filesystem::path below = own;; below = below.parent_path()) {
    const std::filesystem::path parent = groups.root / below.relative_path();
    RemoveLeftovers(parent);
    if (MakeGroup(parent / name, settings)) return parent / name;
    if (WriteText(parent / "cgroup.subtree_control", "+memory +cpu") && MakeGroup(parent / name, settings))
      return parent / name;
    if (below == below.parent_path()) return {};
  }
}

std::string GroupName(const std::string& id) { return std::string(kPrefix) + std::to_string(getpid()) + '-' + id; }

// A share of the cores in the words of version 1 or 2.
std::vector<Setting> CpuSettings(double cores, int64_t period, bool version_2) {
  const std::string quota = std::to_string(static_cast<int64_t>(cores * static_cast<double>(period)));
  if (version_2) return {{"cpu.max", quota + " " + std::to_string(period)}};
  return {{"cpu.cfs_period_us", std::to_string(period)}, {"cpu.cfs_quota_us", quota}};
}

}  // namespace

StatusOr<PodLimits> PodLimits::Make(double cores, const std::string& pod_id, const ControlGroups& groups) {
  PodLimits pod;
  pod.cores_ = cores;
  pod.version_2_ = IsCgroupV2(groups.root);
  const bool enough = cores * static_cast<double>(kPodPeriodMicroseconds) >= kQuotaMicrosecondsMin;
  const int64_t period = enough ? kPodPeriodMicroseconds : kCpuPeriodMicroseconds;
  pod.group_ =
      MakeOwnGroup(groups, pod.version_2_ ? "" : "cpu", GroupName(pod_id), CpuSettings(cores, period, pod.version_2_));
  if (pod.group_.empty()) {
    return Error(StatusCode::kFailedPrecondition,
                 "pods cannot be held to a number of cores: no right to make control "
                 "groups with the cpu controller below " +
                     groups.root.string() + "; " + kWhatToDo);
  }
  // Only then may groups of its containers have limits of their own.
  if (pod.version_2_) WriteText(pod.group_ / "cgroup.subtree_control", "+memory +cpu");
  return pod;
}

void PodLimits::Remove() {
  std::error_code error;
  if (!group_.empty()) std::filesystem::remove(group_, error);
  group_.clear();
}

ContainerLimits ContainerLimits::Make(const kube::Json& limits, const std::string& container_id,
                                      const ControlGroups& groups, const PodLimits* pod) {
  ContainerLimits result;
  const auto quantity = [&](const char* name) -> std::optional<double> {
    const kube::Json& value = kube::At(limits, {name});
    if (value.is_number()) return value.get<double>();
    return value.is_string() ? kube::ParseQuantity(value.get_ref<const std::string&>()) : std::nullopt;
  };
  const std::optional<double> memory = quantity("memory");
  std::optional<double> cpu = quantity("cpu");
  if (pod != nullptr && cpu) cpu = std::min(*cpu, pod->cores_);  // so that one group shows the truth
  const std::string name = GroupName(container_id);
  const std::string bytes = std::to_string(static_cast<int64_t>(memory.value_or(0)));
  const auto joins = [&](const std::filesystem::path& group, bool is_own) {
    if (is_own) result.groups_.push_back(group);
    result.files_.push_back((group / "cgroup.procs").string());
  };
  const auto make_own = [&](const std::string& controller, const std::vector<Setting>& settings) {
    const std::filesystem::path group = MakeOwnGroup(groups, controller, name, settings);
    if (group.empty()) return WarnOnce(groups.root / controller);
    joins(group, true);
  };
  const bool in_pod = pod != nullptr && !pod->group_.empty();
  const bool version_2 = in_pod ? pod->version_2_ : IsCgroupV2(groups.root);
  std::vector<Setting> of_cpu;
  if (cpu) of_cpu = CpuSettings(*cpu, kCpuPeriodMicroseconds, version_2);
  std::vector<Setting> of_memory;
  if (memory) of_memory = {{version_2 ? "memory.max" : "memory.limit_in_bytes", bytes}};
  if (version_2) {
    std::vector<Setting> settings = of_memory;
    settings.insert(settings.end(), of_cpu.begin(), of_cpu.end());
    if (!in_pod) {
      if (!settings.empty()) make_own("", settings);
    } else if (MakeGroup(pod->group_ / name, settings)) {
      joins(pod->group_ / name, true);  // processes may be in the leaves only
    } else if (WarnOnce(pod->group_); MakeGroup(pod->group_ / name, {})) {
      joins(pod->group_ / name, true);
    }
    return result;
  }
  if (memory) make_own("memory", of_memory);
  if (!in_pod) {
    if (cpu) make_own("cpu", of_cpu);
  } else if (cpu && MakeGroup(pod->group_ / name, of_cpu)) {
    joins(pod->group_ / name, true);
  } else {
    joins(pod->group_, false);
  }
  return result;
}

bool ContainerLimits::RanOutOfMemory() const {
  for (const std::filesystem::path& group : groups_) {
    if (ReadOutOfMemoryKills(group) > 0) return true;
  }
  return false;
}

void ContainerLimits::Remove() {
  std::error_code error;
  for (const std::filesystem::path& group : groups_) std::filesystem::remove(group, error);
  groups_.clear();
  files_.clear();
}

}  // namespace attune::local
