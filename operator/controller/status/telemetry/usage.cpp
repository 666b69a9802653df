#include "operator/controller/status/telemetry/usage.h"

#include <algorithm>
#include <cmath>

#include "operator/controller/members/move.h"
#include "operator/controller/plan/evidence.h"

namespace attune::controller {
namespace {

double Hundredths(double value) { return std::round(100 * value) / 100; }

// Whole MiB: what changes with every page would be of no use.
int64_t Mebibytes(uint64_t bytes) {
  constexpr uint64_t kMebibyte = 1 << 20;
  return static_cast<int64_t>((bytes + kMebibyte / 2) / kMebibyte * kMebibyte);
}

double Fullness(const v1::ProcessUsage& usage) {
  const auto used = static_cast<double>(usage.memory_bytes());
  // Of pods without a limit the largest is the fullest, and fuller than none with one.
  constexpr double kOfMachine = 1e18;
  return used / (usage.memory_limit_bytes() > 0 ? static_cast<double>(usage.memory_limit_bytes()) : kOfMachine);
}

}  // namespace

std::optional<api::RoleUsage> UsageOf(const Observed& observed, RoleName role, Now now) {
  api::RoleUsage usage;
  const v1::ProcessUsage* fullest = nullptr;
  int pods = 0, limited = 0;
  for (const ObservedPod& pod : observed.pods) {
    const bool ours = role == RoleName::kServer ? IsServerOf(observed, pod) : IsWorkerOf(observed, pod);
    if (!ours || !IsAlive(pod) || IsUnheardFor(observed, pod, kReportAgeMax, now)) continue;
    const telemetry::PodSample* sample = ReportOf(observed, pod);
    if (sample == nullptr || sample->usage.window_seconds() <= 0) continue;
    const v1::ProcessUsage& own = sample->usage;
    ++pods;
    usage.cpu_cores += own.cpu_seconds() / own.window_seconds();
    usage.throttled += std::min(1.0, own.throttled_seconds() / own.window_seconds());
    if (own.cpu_limit_cores() > 0) {
      ++limited;
      usage.cpu_limit_cores += own.cpu_limit_cores();
    }
    if (fullest != nullptr && Fullness(own) <= Fullness(*fullest)) continue;
    fullest = &own;
    usage.fullest = pod.name;
  }
  if (pods == 0) return std::nullopt;
  usage.cpu_cores = Hundredths(usage.cpu_cores / pods);
  usage.throttled = Hundredths(usage.throttled / pods);
  usage.cpu_limit_cores = limited > 0 ? Hundredths(usage.cpu_limit_cores / limited) : 0;
  usage.memory_bytes = Mebibytes(fullest->memory_bytes());
  usage.memory_limit_bytes = static_cast<int64_t>(fullest->memory_limit_bytes());
  return usage;
}

}  // namespace attune::controller
