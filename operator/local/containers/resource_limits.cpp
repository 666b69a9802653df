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
#include "base/os/file.h"
#include "operator/local/api/rules/pod_rules.h"

namespace attune::local {
namespace {

constexpr std::string_view kGroupPrefix = "attune-";
constexpr int64_t kCpuPeriodMicroseconds = 100000;
// Of whole pods: a fifth of that, unless their share of it would be below the least the kernel takes.
constexpr int64_t kPodPeriodMicroseconds = 20000, kQuotaMicrosecondsMin = 1000;
constexpr char kNotEnforced[] = "resource limits of containers are not enforced: no right to make control groups; ";
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
  log::Warn(std::string(kNotEnforced) + kWhatToDo, {{"where", where.string()}});
}

// A killed platform cannot remove its groups; the next one does. Those in use refuse to go.
void RemoveLeftovers(const std::filesystem::path& parent) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kGroupPrefix) || name.find('-', kGroupPrefix.size()) == std::string::npos) continue;
    const pid_t platform = std::atoi(name.c_str() + kGroupPrefix.size());
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

std::string GroupName(const std::string& id) { return std::string(kGroupPrefix) + std::to_string(getpid()) + '-' + id; }

// The least that the kernel takes is a millisecond, as on a cluster.
int64_t QuotaOf(double cores, int64_t period) {
  return std::max(kQuotaMicrosecondsMin, static_cast<int64_t>(cores * static_cast<double>(period)));
}

// A share of the cores in the words of version 1 or 2.
std::vector<Setting> CpuSettings(double cores, int64_t period, bool version_2) {
  const std::string quota = std::to_string(QuotaOf(cores, period));
  if (version_2) return {{"cpu.max", quota + " " + std::to_string(period)}};
  return {{"cpu.cfs_period_us", std::to_string(period)}, {"cpu.cfs_quota_us", quota}};
}

}  // namespace

StatusOr<PodLimits> PodLimits::Make(double cores, const std::string& pod_id, const ControlGroups& groups) {
  PodLimits pod;
  pod.version_2_ = IsCgroupV2(groups.root);
  const bool enough = cores * static_cast<double>(kPodPeriodMicroseconds) >= kQuotaMicrosecondsMin;
  const int64_t period = enough ? kPodPeriodMicroseconds : kCpuPeriodMicroseconds;
  // What the kernel is given, rounded: of its containers it takes no larger share.
  pod.cores_ = static_cast<double>(QuotaOf(cores, period)) / static_cast<double>(period);
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

namespace {

std::string WayOut(int error) {
  if (error == EACCES || error == EPERM || error == EROFS) return kWhatToDo;
  if (error == EBUSY) return "its processes hold more than that; free some of it, or ask for more";
  if (error == ENOENT)
    return "the control group is gone, or lacks the controller; delete the pod to have it made again";
  return "delete the pod to have its control group made again";
}

}  // namespace

struct ContainerLimits::Figures {
  std::string name;            // of the groups
  double memory = 0, cpu = 0;  // limits; 0: none
  std::vector<Setting> MemorySettings(bool version_2) const {
    if (memory == 0) return {};
    return {{version_2 ? "memory.max" : "memory.limit_in_bytes", std::to_string(static_cast<int64_t>(memory))}};
  }
  std::vector<Setting> CpuSettings(bool version_2) const {
    if (cpu == 0) return {};
    return local::CpuSettings(cpu, kCpuPeriodMicroseconds, version_2);
  }
};

ContainerLimits ContainerLimits::Make(const kube::Json& resources, const std::string& container_id,
                                      const ControlGroups& groups, const PodLimits* pod) {
  ContainerLimits result;
  Figures figures{.name = GroupName(container_id),
                  .memory = ResourceAmount(resources, "limits", "memory"),
                  .cpu = ResourceAmount(resources, "limits", "cpu")};
  result.asked_ = figures.memory > 0 || figures.cpu > 0 || ResourceAmount(resources, "requests", "memory") > 0 ||
                  ResourceAmount(resources, "requests", "cpu") > 0;
  const bool in_pod = pod != nullptr && !pod->group_.empty();
  result.version_2_ = in_pod ? pod->version_2_ : IsCgroupV2(groups.root);
  if (in_pod) {
    result.cores_max_ = pod->cores_;
    if (figures.cpu > 0) figures.cpu = std::min(figures.cpu, pod->cores_);  // so that one group shows the truth
  }
  if (result.version_2_) {
    result.JoinOneGroup(figures, groups, in_pod ? pod : nullptr);
  } else {
    result.JoinGroupPerController(figures, groups, in_pod ? pod : nullptr);
  }
  return result;
}

void ContainerLimits::Join(const std::filesystem::path& group) {
  groups_.push_back(group);
  files_.push_back((group / "cgroup.procs").string());
}

void ContainerLimits::JoinOneGroup(const Figures& figures, const ControlGroups& groups, const PodLimits* pod) {
  std::vector<Setting> settings = figures.MemorySettings(true);
  for (Setting& setting : figures.CpuSettings(true)) settings.push_back(std::move(setting));
  std::filesystem::path group;
  if (pod == nullptr) {
    if (asked_) group = MakeOwnGroup(groups, "", figures.name, settings);
    if (group.empty() && !settings.empty()) WarnOnce(groups.root);
  } else {  // processes may be in the leaves only
    group = pod->group_ / figures.name;
    if (!MakeGroup(group, settings)) {
      WarnOnce(pod->group_);
      if (!MakeGroup(group, {})) group.clear();
    }
  }
  if (group.empty()) return;
  Join(group);
  memory_group_ = cpu_group_ = group;
}

void ContainerLimits::JoinGroupPerController(const Figures& figures, const ControlGroups& groups,
                                             const PodLimits* pod) {
  const auto make_own = [&](const std::string& controller, const std::vector<Setting>& settings) {
    std::filesystem::path group = MakeOwnGroup(groups, controller, figures.name, settings);
    if (!group.empty()) Join(group);
    if (group.empty() && !settings.empty()) WarnOnce(groups.root / controller);
    return group;
  };
  if (asked_) memory_group_ = make_own("memory", figures.MemorySettings(false));
  if (pod == nullptr) {
    if (asked_) cpu_group_ = make_own("cpu", figures.CpuSettings(false));
    return;
  }
  Figures bounded = figures;
  if (bounded.cpu == 0) bounded.cpu = cores_max_;
  if (asked_ && MakeGroup(pod->group_ / figures.name, bounded.CpuSettings(false))) {
    cpu_group_ = pod->group_ / figures.name;
    return Join(cpu_group_);
  }
  files_.push_back((pod->group_ / "cgroup.procs").string());
}

Status ContainerLimits::Write(const std::filesystem::path& group, const std::string& file,
                              const std::string& value) const {
  if (group.empty()) {
    return Error(StatusCode::kFailedPrecondition,
                 asked_ ? std::string(kNotEnforced) + kWhatToDo
                        : "the container was started without figures of cpu and memory and so without a control group; "
                          "delete its pod, and the next one starts with them");
  }
  errno = 0;
  if (WriteText(group / file, value)) return OkStatus();
  const int error = errno == 0 ? EIO : errno;
  return Error(StatusCode::kFailedPrecondition, "cannot write " + value + " to " + (group / file).string() + ": " +
                                                    ErrnoText(error) + "; " + WayOut(error));
}

Status ContainerLimits::LimitMemory(double bytes) {
  return Write(memory_group_, version_2_ ? "memory.max" : "memory.limit_in_bytes",
               std::to_string(static_cast<int64_t>(bytes)));
}

Status ContainerLimits::LimitCpu(double cores) {
  if (cores_max_ > 0) cores = std::min(cores, cores_max_);
  for (const Setting& setting : CpuSettings(cores, kCpuPeriodMicroseconds, version_2_)) {
    RETURN_IF_ERROR(Write(cpu_group_, setting.file, setting.value));
  }
  return OkStatus();
}

std::optional<uint64_t> ContainerLimits::MemoryInUse() const {
  return memory_group_.empty() ? std::nullopt : ReadMemoryInUse(memory_group_);
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
  memory_group_.clear();
  cpu_group_.clear();
}

}  // namespace attune::local
