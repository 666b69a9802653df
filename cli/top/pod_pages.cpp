#include "cli/top/pod_pages.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace attune::cli {
namespace {

// Of a sample line of Prometheus' text format: 'name{labels} value'.
struct Sample {
  std::string_view name;
  double value = 0;
};
std::optional<Sample> ParseSample(std::string_view line) {
  if (line.empty() || line.front() == '#') return std::nullopt;
  const size_t end = line.find_first_of("{ ");
  const size_t space = line.rfind(' ');
  if (end == std::string_view::npos || space == std::string_view::npos) return std::nullopt;
  Sample sample{line.substr(0, end), 0};
  const std::string_view number = line.substr(space + 1);
  const auto [rest, error] = std::from_chars(number.data(), number.data() + number.size(), sample.value);
  const bool whole = error == std::errc() && rest == number.data() + number.size();
  return whole && std::isfinite(sample.value) ? std::optional(sample) : std::nullopt;
}

bool HasPage(const PodView& pod) {
  return !pod.address.empty() && pod.state != "Succeeded" && !pod.state.starts_with("Failed");
}

uint64_t ToCount(double value) { return static_cast<uint64_t>(std::max(value, 0.0)); }

}  // namespace

PodFigures ReadPodPage(std::string_view page) {
  PodFigures figures;
  const std::map<std::string_view, std::optional<double>*> wanted = {
      {"attune_process_cpu_cores", &figures.cpu_cores},
      {"attune_process_cpu_limit_cores", &figures.cpu_limit},
      {"attune_process_throttled_ratio", &figures.throttled},
      {"attune_process_memory_bytes", &figures.memory_bytes},
      {"attune_process_memory_limit_bytes", &figures.memory_limit},
      {"attune_worker_samples_per_second", &figures.rate},
      {"attune_server_rows", &figures.rows}};
  while (!page.empty()) {
    const std::string_view line = page.substr(0, page.find('\n'));
    page.remove_prefix(std::min(page.size(), line.size() + 1));
    const auto sample = ParseSample(line);
    if (!sample) continue;
    if (const auto at = wanted.find(sample->name); at != wanted.end()) *at->second = sample->value;
  }
  return figures;
}

void AddFigures(const PodFigures& figures, PodView& pod) {
  if (figures.cpu_cores) pod.cpu_cores = figures.cpu_cores;
  if (figures.cpu_limit) pod.cpu_limit = figures.cpu_limit;
  if (figures.throttled) pod.throttled = figures.throttled;
  if (figures.memory_bytes) pod.memory_bytes = ToCount(*figures.memory_bytes);
  if (figures.memory_limit) pod.memory_limit = ToCount(*figures.memory_limit);
  if (figures.rate) pod.rate = figures.rate;
  if (figures.rows) pod.rows = ToCount(*figures.rows);
}

bool PodPages::ReadOne(const PodView& pod, Duration left) {
  Known& known = known_[pod.name];
  const auto page = read_(pod, std::min(left, kPageTimeout));
  if (!page.ok()) {
    known.failed_at = time_.Now();
    problem_ = Message(page.status());
    return false;
  }
  known.figures = ReadPodPage(*page);
  known.read_at = time_.Now();
  known.failed_at.reset();
  return true;
}

void PodPages::AddTo(JobView& view) {
  std::vector<PodView*> pods;
  for (PodView& pod : view.pods) {
    if (HasPage(pod)) pods.push_back(&pod);
  }
  // Pods that are gone, and figures of an earlier pod of that name are.
  std::erase_if(known_, [&](const auto& entry) {
    return std::none_of(pods.begin(), pods.end(), [&](const PodView* pod) { return pod->name == entry.first; });
  });
  const auto first = std::find_if(pods.begin(), pods.end(), [&](const PodView* pod) { return pod->name == next_; });
  if (first != pods.end()) std::rotate(pods.begin(), first, pods.end());
  next_.clear();
  const std::string before = std::exchange(problem_, "");
  const MonotonicTime deadline = time_.Now() + kBudget;
  bool any = false, tried = false;
  for (const PodView* pod : pods) {
    const MonotonicTime now = time_.Now();
    if (const Known& known = known_[pod->name]; known.failed_at && now - *known.failed_at < kRetryAfter) continue;
    if (now >= deadline) {
      next_ = pod->name;
      break;
    }
    tried = true;
    any = ReadOne(*pod, deadline - now) || any;
  }
  if (any) problem_.clear();
  if (!tried && !pods.empty()) problem_ = before;
  for (PodView* pod : pods) {
    const Known& known = known_[pod->name];
    if (known.read_at && time_.Now() - *known.read_at < kShownFor) AddFigures(known.figures, *pod);
  }
}

}  // namespace attune::cli
