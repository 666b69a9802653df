// What programs report of the model, from the coordinator's word to the job's status and its displays.
#pragma once

#include <vector>

#include "attune/v1/telemetry.pb.h"
#include "operator/api/training_job.h"

namespace attune::controller {

std::vector<api::MetricStatus> MetricsOf(const v1::JobWindow& window);

}  // namespace attune::controller
