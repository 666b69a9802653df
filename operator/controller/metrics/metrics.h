// What the operator shows to Prometheus, made when it is asked for: series of a job exist exactly as long as the job.
// What processes measure is exported by their sidecars (sidecar/metrics.h), under other names.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/kube/object.h"
#include "operator/kube/watch/work_queue.h"

namespace attune::controller {

struct JobMetrics {
  std::string name_space, name;
  std::shared_ptr<const kube::Json> object = nullptr;  // for what its status says; none of that without it
  std::optional<double> loss = std::nullopt;           // nothing: no window has one
  double samples_per_second = 0;
  // Pods that were asked to be resized and have not been given it yet, by what their machine says.
  double resizing = 0, resize_deferred = 0, resize_infeasible = 0;
};

// How often a watch of the API server did not end as it was to end, since this replica leads.
struct WatchMetrics {
  std::string resource;                          // "pods"
  uint64_t expired = 0, failed = 0, silent = 0;  // its version was too old; an error; nothing was heard for too long
};

struct OperatorMetrics {
  std::string version;
  std::vector<JobMetrics> jobs;
  kube::WorkQueueMetrics queue;
  std::vector<WatchMetrics> watches;
  uint64_t reconcile_errors = 0, plans = 0, actions = 0, failed_actions = 0;
  uint64_t dropped_reports = 0, implausible_reports = 0;
};

// The page in Prometheus' text format. Pure.
std::string MetricsPage(const OperatorMetrics& values);

}  // namespace attune::controller
