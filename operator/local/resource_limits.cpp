#include "operator/local/resource_limits.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/log.h"
#include "operator/kube/quantity.h"

namespace attune::local {
namespace {

constexpr std::string_view kPrefix = "attune-";
constexpr int64_t kCpuPeriodMicroseconds = 100000;

bool WriteText(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text << std::flush;
  return out.good();
}

std::string ReadText(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string text;
  std::getline(in, text, '\0');
  return text;
}

void WarnOnce(const std::filesystem::path& where) {
  static std::atomic<bool> said = false;
  if (said.exchange(true)) return;
  log::Warn(
      "resource limits of containers are not enforced: no right to make control groups; run attune as root, or in a "
      "scope of your own (systemd-run --user --scope -p Delegate=yes attune run ...)",
      {{"where", where.string()}});
}

// Path of this process's group in hierarchy `controller` ("memory"; "" for version 2), as /proc/self/cgroup tells it in
// lines "4:cpu,cpuacct:/path".
std::string OwnGroup(const ControlGroups& groups, const std::string& controller) {
  std::ifstream file(groups.own);
  std::string line;
  while (std::getline(file, line)) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    if (controllers.find(',' + controller + ',') != std::string::npos) return line.substr(second + 1);
  }
  return "";
}

// A killed platform cannot remove its groups; whoever comes next does. Those in use refuse to go.
void RemoveLeftovers(const std::filesystem::path& parent) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || name.find('-', kPrefix.size()) == std::string::npos) continue;
    const pid_t platform = std::atoi(name.c_str() + kPrefix.size());
    if (platform > 0 && kill(platform, 0) != 0 && errno == ESRCH) rmdir(entry.path().c_str());
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

}  // namespace

ContainerLimits ContainerLimits::Make(const kube::Json& limits, const std::string& container_id,
                                      const ControlGroups& groups) {
  ContainerLimits result;
  const auto quantity = [&](const char* name) -> std::optional<double> {
    const kube::Json& value = kube::At(limits, {name});
    if (value.is_number()) return value.get<double>();
    return value.is_string() ? kube::ParseQuantity(value.get_ref<const std::string&>()) : std::nullopt;
  };
  const std::optional<double> memory = quantity("memory");
  const std::optional<double> cpu = quantity("cpu");
  if (!memory.has_value() && !cpu.has_value()) return result;
  const std::string name = std::string(kPrefix) + std::to_string(getpid()) + '-' + container_id;
  const std::string bytes = std::to_string(static_cast<int64_t>(memory.value_or(0)));
  const std::string quota = std::to_string(static_cast<int64_t>(cpu.value_or(0) * kCpuPeriodMicroseconds));
  const std::string period = std::to_string(kCpuPeriodMicroseconds);
  const auto add = [&](const std::filesystem::path& parent, const std::vector<Setting>& settings) {
    RemoveLeftovers(parent);
    const std::filesystem::path group = parent / name;
    if (!MakeGroup(group, settings)) return false;
    result.groups_.push_back(group);
    result.files_.push_back((group / "cgroup.procs").string());
    return true;
  };
  std::error_code error;
  if (std::filesystem::exists(groups.root / "cgroup.controllers", error)) {
    std::vector<Setting> settings;
    if (memory) settings.push_back({"memory.max", bytes});
    if (cpu) settings.push_back({"cpu.max", quota + " " + period});
    // A group with processes of its own passes no controllers on, so ours may have to stand beside it or higher up.
    for (std::filesystem::path below = OwnGroup(groups, "");; below = below.parent_path()) {
      const std::filesystem::path parent = groups.root / below.relative_path();
      if (add(parent, settings)) return result;
      if (WriteText(parent / "cgroup.subtree_control", "+memory +cpu") && add(parent, settings)) return result;
      if (below == below.parent_path()) break;
    }
    WarnOnce(groups.root);
    return result;
  }
  const auto add_version_1 = [&](const std::string& controller, const std::vector<Setting>& settings) {
    const std::filesystem::path own = OwnGroup(groups, controller);
    const std::filesystem::path parent = groups.root / controller / own.relative_path();
    if (!add(parent, settings)) WarnOnce(parent);
  };
  if (memory) add_version_1("memory", {{"memory.limit_in_bytes", bytes}});
  if (cpu) add_version_1("cpu", {{"cpu.cfs_period_us", period}, {"cpu.cfs_quota_us", quota}});
  return result;
}

bool ContainerLimits::RanOutOfMemory() const {
  for (const std::filesystem::path& group : groups_) {
    for (const char* file : {"memory.oom_control", "memory.events"}) {
      const std::string text = ReadText(group / file);
      const size_t at = text.find("oom_kill ");
      if (at != std::string::npos && std::atoll(text.c_str() + at + 9) > 0) return true;
    }
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
