#include "operator/tuner/detectors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace attune::tuner {
namespace {

constexpr std::array<std::string_view, 6> kSymptoms = {"HotServer",      "StragglingWorker", "MemoryLimit",
                                                       "StarvedWorkers", "StalledLoss",      "NotANumber"};
constexpr std::array<std::string_view, 6> kRemedies = {"RelocateRows", "MoreServers",    "MorePodMemory",
                                                       "MovePod",      "CheckpointStop", "ReportUser"};

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The lower median of two does not let one of two nodes be its own yardstick.
double LowerMedian(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string Percent(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.0f %%", 100 * share);
  return text.data();
}
std::string Number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

// Mean of a field over the last `count` windows; nothing when the trace is shorter.
std::optional<double> Recent(const NodeTrace& trace, size_t count, double NodeWindow::*field) {
  if (trace.size() < count) return std::nullopt;
  double sum = 0;
  for (size_t i = trace.size() - count; i < trace.size(); ++i) sum += trace[i].*field;
  return sum / static_cast<double>(count);
}

// Indices of pods have gaps once one has moved.
int NodeOf(std::span<const NodeTrace> traces, size_t place) {
  const NodeTrace& trace = traces[place];
  return trace.empty() || trace.back().node < 0 ? static_cast<int>(place) : trace.back().node;
}

// True when `holds` is true of each of the last `count` windows.
template <typename Predicate>
bool Throughout(const NodeTrace& trace, size_t count, Predicate holds) {
  return trace.size() >= count && std::all_of(trace.end() - static_cast<std::ptrdiff_t>(count), trace.end(), holds);
}

}  // namespace

std::string_view Name(Symptom symptom) { return kSymptoms[static_cast<size_t>(symptom)]; }
std::string_view Name(Remedy remedy) { return kRemedies[static_cast<size_t>(remedy)]; }

std::vector<Finding> DetectHotServers(std::span<const NodeTrace> servers) {
  std::vector<double> requests;
  size_t busy = 0;
  for (const NodeTrace& trace : servers) {
    requests.push_back(Recent(trace, kHotWindows, &NodeWindow::requests).value_or(0));
    busy += Throughout(trace, kHotWindows, [](const NodeWindow& w) { return w.cpu > kHotCpu; }) ? 1 : 0;
  }
  std::vector<Finding> findings;
  const double median = LowerMedian(requests);
  for (size_t i = 0; i < servers.size(); ++i) {
    const bool hot = Throughout(servers[i], kHotWindows, [](const NodeWindow& w) { return w.cpu > kHotCpu; });
    if (!hot || servers.size() < 2 || requests[i] < kHotRatio * median) continue;
    const double ratio = requests[i] / std::max(median, 1e-9);
    const int node = NodeOf(servers, i);
    findings.push_back({Symptom::kHotServer, Remedy::kRelocateRows, node, ratio,
                        "server " + std::to_string(node) + " answers " + Number(ratio) +
                            " times the median server's requests and has no CPU left; move rows away from it"});
  }
  if (findings.empty() && !servers.empty() && busy == servers.size())
    findings.push_back(
        {Symptom::kHotServer, Remedy::kMoreServers, -1, static_cast<double>(busy),
         (busy == 1 ? std::string("the only server has") : "all " + std::to_string(busy) + " servers have") +
             " no CPU left; add one"});
  return findings;
}

std::vector<Finding> DetectStragglers(std::span<const NodeTrace> workers) {
  std::vector<Finding> findings;
  if (workers.size() < 2) return findings;
  std::vector<std::vector<double>> ratios(workers.size());
  for (size_t back = 1; back <= kStraggleWindows; ++back) {
    std::vector<double> steps;
    for (const NodeTrace& trace : workers) {
      if (trace.size() >= back) steps.push_back(trace[trace.size() - back].step_seconds);
    }
    const double median = LowerMedian(steps);
    for (size_t i = 0; i < workers.size(); ++i) {
      if (workers[i].size() >= back && median > 0)
        ratios[i].push_back(workers[i][workers[i].size() - back].step_seconds / median);
    }
  }
  for (size_t i = 0; i < workers.size(); ++i) {
    if (ratios[i].size() < kStraggleWindows) continue;
    const double least = *std::min_element(ratios[i].begin(), ratios[i].end());
    if (least < kStraggleRatio) continue;
    const int node = NodeOf(workers, i);
    findings.push_back({Symptom::kStragglingWorker, Remedy::kMovePod, node, Median(ratios[i]),
                        "worker " + std::to_string(node) + " takes " + Number(Median(ratios[i])) +
                            " times as long for a step as the median worker; move it to another machine"});
  }
  return findings;
}

std::vector<Finding> DetectMemoryLimit(std::span<const NodeTrace> nodes, bool servers) {
  std::vector<Finding> findings;
  for (size_t n = 0; n < nodes.size(); ++n) {
    const NodeTrace& trace = nodes[n];
    if (trace.size() < kMemoryWindows) continue;
    const std::span<const NodeWindow> recent(
        trace.end() - static_cast<std::ptrdiff_t>(std::min<size_t>(trace.size(), 32)), trace.end());
    std::vector<double> slopes;
    for (size_t i = 0; i < recent.size(); ++i) {
      for (size_t j = i + 1; j < recent.size(); ++j) {
        const double time = recent[j].time - recent[i].time;
        if (time > 0) slopes.push_back((recent[j].memory - recent[i].memory) / time);
      }
    }
    const double slope = Median(slopes), now = trace.back().memory;
    const double seconds = slope > 0 ? (1 - now) / slope : 1e18;
    // Growth within the noise of a nearly flat trace is none.
    const bool grows = slope * (recent.back().time - recent.front().time) > 0.02;
    if (now < kMemoryShare && !(grows && seconds < kMemorySeconds)) continue;
    const int node = NodeOf(nodes, n);
    const std::string who = (servers ? "server " : "worker ") + std::to_string(node);
    findings.push_back(
        {Symptom::kMemoryLimit, servers ? Remedy::kMoreServers : Remedy::kMorePodMemory, node,
         now < kMemoryShare ? seconds : 0,
         who + " uses " + Percent(now) + " of its memory" +
             (grows && seconds < kMemorySeconds ? " and reaches the limit in " + Number(seconds) + " s" : "") +
             (servers ? "; add a server or raise the limit" : "; raise the limit")});
  }
  return findings;
}

std::optional<Finding> DetectStarvedWorkers(std::span<const NodeTrace> workers, std::span<const NodeTrace> servers) {
  std::vector<double> waits, cpus;
  for (const NodeTrace& trace : workers) {
    const auto wait = Recent(trace, kStarvedWindows, &NodeWindow::wait_share);
    if (wait) waits.push_back(*wait);
  }
  for (const NodeTrace& trace : servers) {
    const auto cpu = Recent(trace, kStarvedWindows, &NodeWindow::cpu);
    if (cpu) cpus.push_back(*cpu);
  }
  if (waits.empty() || cpus.empty()) return std::nullopt;
  const double wait = Median(waits);
  if (wait < kStarvedShare) return std::nullopt;
  const bool busy = Median(cpus) > 0.7;
  return Finding{Symptom::kStarvedWorkers, busy ? Remedy::kMoreServers : Remedy::kTellUser, -1, wait,
                 "workers wait for rows " + Percent(wait) + " of their time" +
                     (busy ? " and servers are busy; add a server or take workers away"
                           : " although servers have CPU left; look at the network between them")};
}

std::optional<Finding> DetectStalledLoss(std::span<const double> losses) {
  if (losses.size() < 2 * kStalledWindows) return std::nullopt;
  const auto recent = losses.last(kStalledWindows);
  const size_t half = kStalledWindows / 2;
  double greater = 0;  // pairs in which the earlier loss is greater
  for (size_t i = 0; i < half; ++i) {
    for (size_t j = half; j < kStalledWindows; ++j) {
      if (!std::isfinite(recent[i]) || !std::isfinite(recent[j])) return std::nullopt;
      greater += recent[i] > recent[j] ? 1 : (recent[i] == recent[j] ? 0.5 : 0);
    }
  }
  const auto m = static_cast<double>(half);
  const double z = (greater - m * m / 2) / std::sqrt(m * m * (2 * m + 1) / 12);
  if (z > 1.645) return std::nullopt;  // it still falls
  const double before = Median({losses.begin(), losses.begin() + static_cast<std::ptrdiff_t>(half)});
  const double now = Median({recent.begin(), recent.end()});
  if (!(now < before)) return std::nullopt;  // it never fell: nothing has stalled
  return Finding{Symptom::kStalledLoss, Remedy::kTellUser, -1, now,
                 "the loss stays at about " + Number(now) + " for " + std::to_string(kStalledWindows) +
                     " windows; lower the learning rate, or end the job if this is good enough"};
}

std::optional<Finding> DetectNotANumber(std::span<const double> losses) {
  double least = 1e300;
  size_t exploded = 0;
  for (const double loss : losses) {
    if (!std::isfinite(loss))
      return Finding{Symptom::kNotANumber, Remedy::kCheckpointStop, -1, loss,
                     "the loss is no longer a number; return to the last checkpoint with a lower learning rate"};
    exploded = loss > kExploded * least ? exploded + 1 : 0;
    if (loss > 0) least = std::min(least, loss);
  }
  if (exploded < 3) return std::nullopt;
  return Finding{Symptom::kNotANumber, Remedy::kCheckpointStop, -1, losses.back(),
                 "the loss rose from " + Number(least) + " to " + Number(losses.back()) +
                     "; return to the last checkpoint with a lower learning rate"};
}

}  // namespace attune::tuner
