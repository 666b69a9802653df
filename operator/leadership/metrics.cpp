#include "operator/leadership/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <vector>

namespace attune::leadership {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily Single(MetricType type, const char* name, const char* help, double value) {
  MetricFamily family{.name = name, .help = help, .type = type, .metric = {{}}};
  (type == MetricType::Counter ? family.metric[0].counter.value : family.metric[0].gauge.value) = value;
  return family;
}

}  // namespace

std::string MetricsText(const CandidateView& view, uint64_t refused_writes) {
  std::vector<MetricFamily> families = {
      Single(MetricType::Gauge, "attune_operator_leader", "1 while this replica holds the Lease and acts, else 0.",
             view.leads ? 1 : 0),
      Single(MetricType::Counter, "attune_operator_leader_transitions_total",
             "Changes of the leader, as the Lease counts them.", static_cast<double>(view.transitions)),
      Single(MetricType::Counter, "attune_operator_fenced_writes_total",
             "Writes that were not sent because this replica did not hold the Lease.",
             static_cast<double>(refused_writes))};
  if (view.since_renewal >= Duration::zero()) {
    families.push_back(Single(MetricType::Gauge, "attune_operator_lease_renewal_age_seconds",
                              "Time since this replica last renewed the Lease; without it others take over.",
                              Seconds(view.since_renewal)));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace attune::leadership
