// How long reconciles and calls to the API server took, as histograms for Prometheus. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "base/time_source.h"
#include "operator/kube/measured_api.h"

namespace attune::controller {

class Durations {
 public:
  Durations();
  ~Durations();

  void OnReconcile(Duration took);
  // One series for each verb, resource and outcome that there was; all three come from the operator's own code.
  void OnCall(const kube::FinishedCall& call);
  // In Prometheus' text format.
  std::string MetricsText() const;

 private:
  struct Series;
  const std::unique_ptr<Series> series_;
};

}  // namespace attune::controller
