#include "operator/telemetry/plausible.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "proto/contract.h"

namespace attune::telemetry {
namespace {

constexpr double kWindowSecondsMax = 3600;
constexpr size_t kUnitBytesMax = 64;
constexpr size_t kSummaryBytesMax = 16 << 10;
constexpr int kMetricsMax = 256;
constexpr size_t kNameBytesMax = 4 << 10;
constexpr int kServersMax = 1024;

bool AllSane(std::initializer_list<double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value) && value >= 0; });
}

bool IsSane(const v1::Quantiles& q) { return AllSane({q.p50(), q.p90(), q.p99(), q.max(), q.mean()}); }

bool IsSane(const v1::WorkerWindow& w) {
  return IsSane(w.step_seconds()) && IsSane(w.compute_seconds()) &&
         AllSane({w.pull_wait_seconds(), w.push_wait_seconds(), w.loss_count() > 0 ? w.loss_variance() : 0,
                  w.staleness_mean(), w.pace_wait_seconds()}) &&
         (w.loss_count() == 0 || std::isfinite(w.loss_mean())) && w.sample_unit().size() <= kUnitBytesMax;
}

bool IsSane(const v1::JobWindow& job) {
  return AllSane(
             {job.relocation().rows_per_second(), job.checkpoint().complete_unix_seconds(), job.trained_seconds()}) &&
         job.data_set().size() <= kNameBytesMax && job.checkpoint().directory().size() <= kNameBytesMax &&
         job.server_states_size() <= kServersMax;
}

bool IsSane(const v1::ProcessUsage& u) {
  return AllSane({u.cpu_seconds(), u.window_seconds(), u.cpu_limit_cores(), u.throttled_seconds()});
}

}  // namespace

bool IsPlausible(const v1::SidecarHello& hello, const v1::PodReport& report) {
  const v1::WindowReport& window = report.window();
  if (!AllSane({window.duration_seconds(), window.end_unix_seconds()}) || window.duration_seconds() > kWindowSecondsMax)
    return false;
  const bool is_server = hello.role() == contract::kRoleServer;
  if (is_server ? window.has_worker() : (window.has_server() || window.has_job())) return false;
  return IsSane(window.worker()) && IsSane(window.job()) && IsSane(report.usage());
}

bool IsPlausible(const v1::FinalReport& report) {
  if (report.metrics_size() > kMetricsMax || report.summary().size() > kSummaryBytesMax) return false;
  return std::all_of(report.metrics().begin(), report.metrics().end(),
                     [](const auto& metric) { return std::isfinite(metric.second); });
}

}  // namespace attune::telemetry
