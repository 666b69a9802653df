#include "cli/display/job/view_trends.h"

namespace attune::cli {

void ViewTrends::Add(JobView& view) {
  loss_.Add(view.loss);
  rate_.Add(view.rate);
  view.loss_trend = loss_.values();
  view.rate_trend = rate_.values();
  // At each report one value: reports are far apart, and looks are not.
  for (const api::MetricStatus& metric : view.metrics) {
    OfMetric& seen = metrics_[metric.name];
    const auto reports = static_cast<uint64_t>(metric.reports);
    if (reports != seen.reports) seen.values.Add(metric.value);
    seen.reports = reports;
    view.metric_trends.emplace_back(metric.name, seen.values.values());
  }
}

}  // namespace attune::cli
