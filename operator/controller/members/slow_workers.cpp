#include "operator/controller/members/slow_workers.h"

#include <algorithm>
#include <map>
#include <optional>

#include "operator/controller/members/move.h"

namespace attune::controller {
namespace {

constexpr double kSlow = 2.0 / 3;  // of the median: less is no chance of one window

// Samples per second of its last window, or steps where the program counts no samples; nullopt: nothing is known.
std::optional<double> RateOf(const Observed& observed, const ObservedPod& worker, const PlanOptions& options, Now now) {
  const telemetry::PodSample* sample = ReportOf(observed, worker);
  if (sample == nullptr || now.monotonic - sample->reported_at >= options.metrics_stale_after) return std::nullopt;
  const v1::WorkerWindow& window = sample->window.worker();
  const double seconds = sample->window.duration_seconds();
  if (window.steps() == 0 || seconds <= 0) return std::nullopt;
  return static_cast<double>(window.samples() > 0 ? window.samples() : window.steps()) / seconds;
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

bool HasRoomBesideIt(const Observed& observed, const ObservedPod& pod) {
  if (!observed.machines) return true;
  const auto machine = std::ranges::find(*observed.machines, pod.node, &scheduler::Machine::name);
  if (machine == observed.machines->end()) return true;  // it takes no pods, or is not known
  return pod.requests.cpu_cores <= machine->free.cpu_cores && pod.requests.memory_bytes <= machine->free.memory_bytes;
}

}  // namespace

double DispensableBy(const Observed& observed, const ObservedPod& worker, const PlanOptions& options, Now now) {
  std::vector<double> rates;
  bool any_has_room = false;
  for (const ObservedPod& pod : observed.pods) {
    if (!IsWorkerOf(observed, pod) || !IsAlive(pod)) continue;
    if (const auto rate = RateOf(observed, pod, options, now)) rates.push_back(*rate);
    any_has_room = any_has_room || (!pod.node.empty() && HasRoomBesideIt(observed, pod));
  }
  const std::optional<double> rate = RateOf(observed, worker, options, now);
  const double median = rates.empty() ? 0 : Median(std::move(rates));
  if (rate && *rate < kSlow * median) return 2 - *rate / median;
  const bool is_crowded = !worker.node.empty() && any_has_room && !HasRoomBesideIt(observed, worker);
  return is_crowded ? 0.5 : 0;
}

}  // namespace attune::controller
