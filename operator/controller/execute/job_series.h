// Series of a job that its object alone gives, for Prometheus: what the status says, in figures. They are the leading
// operator's; what processes measure is exported by their sidecars (sidecar/metrics.h), under other names.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "operator/kube/object.h"

namespace attune::controller {

struct JobFamily {
  using Labels = std::vector<std::pair<std::string, std::string>>;
  using Add = std::function<void(Labels, double)>;

  const char* name;  // in base units, counters with _total, as Prometheus' conventions have it
  bool is_counter;
  const char* help;
  // Adds what this job has of it, without the labels that name the job. Nothing for what its status does not say.
  void (*samples)(const kube::Json& job, const Add& add);
};

std::span<const JobFamily> JobFamilies();

}  // namespace attune::controller
