#include "sidecar/usage.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/os/kernel_text.h"

namespace attune::sidecar {
std::optional<ProcessStat> ParseProcessStat(std::string_view text) {
  // The name stands in parentheses and may itself hold spaces and parentheses; nothing behind it does.
  const size_t name_begin = text.find('(');
  const size_t name_end = text.rfind(')');
  if (name_begin == std::string_view::npos || name_end == std::string_view::npos || name_end < name_begin) {
    return std::nullopt;
  }
  const auto pid = ParseInteger<int>(text.substr(0, name_begin));
  // Fields are numbered from 1 in proc(5); the state, number 3, is the first behind the name.
  const std::vector<std::string_view> fields = SplitText(text.substr(name_end + 1), " \n");
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
  for (const std::string_view word : SplitText(text, " \n")) {
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

// "  eth0: 1234 10 0 0 0 0 0 0 5678 11 0 0 0 0 0 0": bytes received are the first number, bytes sent the ninth.
std::optional<NetworkTotals> ParseNetworkTotals(std::string_view text) {
  NetworkTotals totals;
  bool has_interface = false;
  for (const std::string_view line : SplitText(text, "\n")) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;  // the two lines of headings
    const std::vector<std::string_view> names = SplitText(line.substr(0, colon), " ");
    const std::vector<std::string_view> fields = SplitText(line.substr(colon + 1), " ");
    if (names.size() != 1 || fields.size() < 9) return std::nullopt;
    const auto received = ParseInteger<uint64_t>(fields[0]);
    const auto sent = ParseInteger<uint64_t>(fields[8]);
    if (!received || !sent) return std::nullopt;
    has_interface = true;
    if (names[0] == "lo") continue;
    totals.received_bytes += *received;
    totals.sent_bytes += *sent;
  }
  return has_interface ? std::optional(totals) : std::nullopt;
}

}  // namespace attune::sidecar
