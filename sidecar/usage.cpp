#include "sidecar/usage.h"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <set>

namespace attune::sidecar {
namespace {

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

template <std::integral Integer>
std::optional<Integer> ParseInteger(std::string_view text) {
  text = Trimmed(text);
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> Split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t begin = text.find_first_not_of(separators);
    if (begin == std::string_view::npos) return parts;
    text.remove_prefix(begin);
    const size_t end = std::min(text.find_first_of(separators), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

// The number behind `key` in lines of "key number".
std::optional<uint64_t> Keyed(std::string_view text, std::string_view key) {
  for (const std::string_view line : Split(text, "\n")) {
    const std::vector<std::string_view> words = Split(line, " ");
    if (words.size() == 2 && words[0] == key) return ParseInteger<uint64_t>(words[1]);
  }
  return std::nullopt;
}

// Version 1 writes "no limit" as the largest multiple of the page size.
constexpr uint64_t kUnlimitedFrom = uint64_t{1} << 60;

}  // namespace

std::optional<ProcessStat> ParseProcessStat(std::string_view text) {
  // The name stands in parentheses and may itself hold spaces and parentheses; nothing behind it does.
  const size_t name_begin = text.find('(');
  const size_t name_end = text.rfind(')');
  if (name_begin == std::string_view::npos || name_end == std::string_view::npos || name_end < name_begin) {
    return std::nullopt;
  }
  const auto pid = ParseInteger<int>(text.substr(0, name_begin));
  // Fields are numbered from 1 in proc(5); the state, number 3, is the first behind the name.
  const std::vector<std::string_view> fields = Split(text.substr(name_end + 1), " \n");
  const auto field = [&](size_t number) { return fields[number - 3]; };
  if (!pid || fields.size() < 24 - 2) return std::nullopt;
  const auto parent = ParseInteger<int>(field(4));
  const auto user = ParseInteger<uint64_t>(field(14));
  const auto system = ParseInteger<uint64_t>(field(15));
  const auto children_user = ParseInteger<int64_t>(field(16));
  const auto children_system = ParseInteger<int64_t>(field(17));
  const auto start = ParseInteger<uint64_t>(field(22));
  const auto resident = ParseInteger<int64_t>(field(24));
  if (!parent || !user || !system || !children_user || !children_system || !start || !resident) return std::nullopt;
  return ProcessStat{.pid = *pid,
                     .parent = *parent,
                     .cpu_ticks = *user + *system + static_cast<uint64_t>(std::max<int64_t>(0, *children_user)) +
                                  static_cast<uint64_t>(std::max<int64_t>(0, *children_system)),
                     .resident_pages = static_cast<uint64_t>(std::max<int64_t>(0, *resident)),
                     .start_ticks = *start};
}

std::vector<int> ParseChildren(std::string_view text) {
  std::vector<int> children;
  for (const std::string_view word : Split(text, " \n")) {
    if (const auto pid = ParseInteger<int>(word)) children.push_back(*pid);
  }
  return children;
}

std::optional<TreeUsage> SumTree(int root, const std::vector<ProcessStat>& processes) {
  std::multimap<int, const ProcessStat*> by_parent;
  const ProcessStat* top = nullptr;
  for (const ProcessStat& process : processes) {
    by_parent.emplace(process.parent, &process);
    if (process.pid == root) top = &process;
  }
  if (top == nullptr) return std::nullopt;
  TreeUsage sum;
  std::set<int> seen;  // text read while numbers are reused could show a circle
  std::vector<const ProcessStat*> open{top};
  while (!open.empty()) {
    const ProcessStat* process = open.back();
    open.pop_back();
    if (!seen.insert(process->pid).second) continue;
    sum.cpu_ticks += process->cpu_ticks;
    sum.resident_pages += process->resident_pages;
    const auto [first, last] = by_parent.equal_range(process->pid);
    for (auto child = first; child != last; ++child) open.push_back(child->second);
  }
  return sum;
}

std::map<std::string, std::string> ParseCgroupMembership(std::string_view text) {
  std::map<std::string, std::string> paths;
  for (const std::string_view line : Split(text, "\n")) {  // 4:memory:/path, 3:cpu,cpuacct:/path, 0::/path
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (controllers.empty()) paths[""] = path;
    for (const std::string_view controller : Split(controllers, ",")) paths[std::string(controller)] = path;
  }
  return paths;
}

CgroupLimits ParseCgroupV2(const CgroupV2Text& text) {
  CgroupLimits limits;
  limits.memory_bytes = ParseInteger<uint64_t>(text.memory_max).value_or(0);  // "max" is not a number: no limit
  if (const auto words = Split(text.cpu_max, " \n"); words.size() == 2) {
    const auto quota = ParseInteger<uint64_t>(words[0]);
    const auto period = ParseInteger<uint64_t>(words[1]);
    if (quota && period && *period > 0) limits.cpu_cores = static_cast<double>(*quota) / static_cast<double>(*period);
  }
  limits.throttled_seconds = 1e-6 * static_cast<double>(Keyed(text.cpu_stat, "throttled_usec").value_or(0));
  return limits;
}

CgroupLimits ParseCgroupV1(const CgroupV1Text& text) {
  CgroupLimits limits;
  const uint64_t memory = Keyed(text.memory_stat, "hierarchical_memory_limit").value_or(0);
  limits.memory_bytes = memory >= kUnlimitedFrom ? 0 : memory;
  const auto quota = ParseInteger<int64_t>(text.cpu_quota_us);  // -1: none
  const auto period = ParseInteger<int64_t>(text.cpu_period_us);
  if (quota && period && *quota > 0 && *period > 0) {
    limits.cpu_cores = static_cast<double>(*quota) / static_cast<double>(*period);
  }
  limits.throttled_seconds = 1e-9 * static_cast<double>(Keyed(text.cpu_stat, "throttled_time").value_or(0));
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
  const auto cpu = Keyed(cpu_stat, "usage_usec");
  const auto memory = ParseInteger<uint64_t>(memory_current);
  if (!cpu || !memory) return std::nullopt;
  const uint64_t droppable = std::min(*memory, Keyed(memory_stat, "inactive_file").value_or(0));
  return CgroupUsage{.cpu_seconds = 1e-6 * static_cast<double>(*cpu), .memory_bytes = *memory - droppable};
}

std::optional<CgroupUsage> ParseCgroupV1Usage(std::string_view cpuacct_usage, std::string_view memory_usage,
                                              std::string_view memory_stat) {
  const auto cpu = ParseInteger<uint64_t>(cpuacct_usage);
  const auto memory = ParseInteger<uint64_t>(memory_usage);
  if (!cpu || !memory) return std::nullopt;
  const uint64_t droppable = std::min(*memory, Keyed(memory_stat, "total_inactive_file").value_or(0));
  return CgroupUsage{.cpu_seconds = 1e-9 * static_cast<double>(*cpu), .memory_bytes = *memory - droppable};
}

}  // namespace attune::sidecar
