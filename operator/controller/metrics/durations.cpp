#include "operator/controller/metrics/durations.h"

#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace attune::controller {
namespace {

using prometheus::Histogram;

// From what a call on the same machine takes to what a person would call a hang.
const Histogram::BucketBoundaries kBoundaries{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                              0.25,  0.5,    1,     2.5,  5,     10,   30};

}  // namespace

struct Durations::Series {
  prometheus::Registry registry;
  Histogram& reconciles = prometheus::BuildHistogram()
                              .Name("attune_reconcile_duration_seconds")
                              .Help("Time that a reconcile took: observing, planning and acting.")
                              .Register(registry)
                              .Add({}, kBoundaries);
  prometheus::Family<Histogram>& calls = prometheus::BuildHistogram()
                                             .Name("attune_api_request_duration_seconds")
                                             .Help(
                                                 "Time that a call to the API server took, by verb, resource and "
                                                 "outcome; of watches until they had begun.")
                                             .Register(registry);
};

Durations::Durations() : series_(std::make_unique<Series>()) {}
Durations::~Durations() = default;

void Durations::OnReconcile(Duration took) { series_->reconciles.Observe(Seconds(took)); }

void Durations::OnCall(const kube::FinishedCall& call) {
  series_->calls
      .Add({{"verb", std::string(call.verb)},
            {"resource", std::string(call.resource)},
            {"code", absl::StatusCodeToString(call.code)}},
           kBoundaries)
      .Observe(Seconds(call.took));
}

std::string Durations::MetricsText() const {
  return prometheus::TextSerializer().Serialize(series_->registry.Collect());
}

}  // namespace attune::controller
