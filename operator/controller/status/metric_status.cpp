#include "operator/controller/status/metric_status.h"

namespace attune::controller {
namespace {

api::MetricPlace PlaceOf(const v1::JobMetric::Place& place) {
  return {.step = place.step(), .epoch = place.epoch(), .items = place.items()};
}

}  // namespace

std::vector<api::MetricStatus> MetricsOf(const v1::JobWindow& window) {
  std::vector<api::MetricStatus> metrics;
  for (const v1::JobMetric& from : window.metrics()) {
    api::MetricStatus& metric = metrics.emplace_back();
    metric.name = from.name();
    metric.reports = from.reports();
    if (from.has_value()) metric.value = from.value();
    metric.at = PlaceOf(from.at());
    if (from.has_best()) metric.best = from.best();
    metric.best_at = PlaceOf(from.best_at());
    metric.direction = from.maximize() ? api::Direction::kMaximize : api::Direction::kMinimize;
    metric.left_out = from.left_out();
  }
  return metrics;
}

}  // namespace attune::controller
