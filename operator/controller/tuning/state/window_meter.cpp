#include "operator/controller/tuning/state/window_meter.h"

#include <vector>

namespace attune::controller {
namespace {

constexpr double kSecondsMin = 0.05;

// Over the pods of which it is known; nothing when there are none.
template <typename Value>
std::optional<double> Mean(const std::vector<NodeFigures>& nodes, Value value) {
  double sum = 0;
  int count = 0;
  for (const NodeFigures& node : nodes) {
    const std::optional<double> known = value(node);
    if (!known) continue;
    sum += *known;
    ++count;
  }
  return count > 0 ? std::optional<double>(sum / count) : std::nullopt;
}

// Without a limit of CPU there is no share of it.
std::optional<double> MeanShare(const std::vector<NodeFigures>& nodes, double NodeFigures::*share) {
  return Mean(
      nodes, [&](const NodeFigures& node) { return node.cpu > 0 ? std::optional<double>(node.*share) : std::nullopt; });
}

std::optional<double> MeanAtWork(const std::vector<NodeFigures>& nodes) {
  return Mean(nodes, [](const NodeFigures& node) { return node.at_work; });
}

}  // namespace

void WindowMeter::Open(const TuningInput& input, double begin) {
  window_ = Window{begin, input.steps, input.loss_sum, input.loss_weight, input.metric_reports};
}

std::optional<tuner::Report> WindowMeter::Close(const TuningInput& input, bool during_change) {
  if (!window_) return std::nullopt;
  const Window window = *window_;
  Open(input, input.time);
  if (input.steps < window.steps || input.time - window.begin < kSecondsMin) return std::nullopt;
  tuner::Report report;
  report.time = input.time;
  report.seconds = input.time - window.begin;
  report.steps = static_cast<double>(input.steps - window.steps);
  const double weight = input.loss_weight - window.loss_weight;
  if (weight > 0) report.loss_mean = (input.loss_sum - window.loss_sum) / weight;
  // One value is one piece of news, however many windows pass until the next.
  if (input.metric_reports != window.metric_reports) report.metric = input.metric;
  report.staleness = input.staleness;
  // Pods say how they are now: the last window of a change ends at the new setting and names the old one.
  if (!during_change || !input.settled) {
    report.server_memory = input.server_memory;
    report.worker_memory = input.worker_memory;
    report.worker_throttled = MeanShare(input.worker_figures, &NodeFigures::throttled);
    report.worker_cpu = MeanShare(input.worker_figures, &NodeFigures::cpu);
    report.server_throttled = MeanShare(input.server_figures, &NodeFigures::throttled);
    report.server_cpu = MeanShare(input.server_figures, &NodeFigures::cpu);
  }
  report.worker_compute = MeanAtWork(input.worker_figures);
  report.server_busy = MeanAtWork(input.server_figures);
  report.during_change = during_change;
  return report;
}

}  // namespace attune::controller
