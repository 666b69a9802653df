#include "operator/local/resource_limits.h"

#include <atomic>
#include <fstream>
#include <optional>

#include "base/log.h"
#include "operator/kube/quantity.h"

namespace attune::local {
namespace {

constexpr char kRoot[] = "/sys/fs/cgroup";
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

void SayOnce(const char* what, const std::string& where) {
  static std::atomic<bool> said = false;
  if (!said.exchange(true))
    log::Info("resource limits of containers are not enforced", {{"why", what}, {"where", where}});
}

// Path of this process's group in hierarchy `controller` ("memory"; "" for version 2), as /proc/self/cgroup tells it.
std::string OwnGroup(const std::string& controller) {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    if (line.substr(first + 1, second - first - 1) == controller) return line.substr(second + 1);
  }
  return "";
}

struct Setting {
  std::string file, value;
};

// Makes `directory` with these settings; removes it again when one is refused.
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

ContainerLimits ContainerLimits::Make(const kube::Json& limits, const std::string& container_id) {
  ContainerLimits result;
  const auto quantity = [&](const char* name) -> std::optional<double> {
    const kube::Json& value = kube::At(limits, {name});
    if (value.is_number()) return value.get<double>();
    return value.is_string() ? kube::ParseQuantity(value.get_ref<const std::string&>()) : std::nullopt;
  };
  const std::optional<double> memory = quantity("memory");
  const std::optional<double> cpu = quantity("cpu");
  if (!memory.has_value() && !cpu.has_value()) return result;
  const std::string name = "attune-" + container_id;
  const std::string bytes = std::to_string(static_cast<int64_t>(memory.value_or(0)));
  const std::string quota = std::to_string(static_cast<int64_t>(cpu.value_or(0) * kCpuPeriodMicroseconds));
  const auto add = [&](const std::filesystem::path& parent, const std::vector<Setting>& settings, const char* what) {
    const std::filesystem::path group = parent / name;
    if (!MakeGroup(group, settings)) return SayOnce(what, parent.string());
    result.groups_.push_back(group);
    result.files_.push_back((group / "cgroup.procs").string());
  };
  const std::filesystem::path root(kRoot);
  std::error_code error;
  if (std::filesystem::exists(root / "cgroup.controllers", error)) {
    std::vector<Setting> settings;
    if (memory) settings.push_back({"memory.max", bytes});
    if (cpu) settings.push_back({"cpu.max", quota + " " + std::to_string(kCpuPeriodMicroseconds)});
    add(root.string() + OwnGroup(""), settings, "no right to make control groups");
    return result;
  }
  if (memory)
    add(root.string() + "/memory" + OwnGroup("memory"), {{"memory.limit_in_bytes", bytes}}, "no memory limit rights");
  if (cpu) {
    add(root.string() + "/cpu" + OwnGroup("cpu"),
        {{"cpu.cfs_period_us", std::to_string(kCpuPeriodMicroseconds)}, {"cpu.cfs_quota_us", quota}},
        "no CPU limit rights");
  }
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
