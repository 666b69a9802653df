// What a replica shows of the election to Prometheus.
#pragma once

#include <cstdint>
#include <string>

#include "operator/leadership/candidate.h"

namespace attune::leadership {

// In Prometheus' text format, to be added to the operator's page. `refused_writes`: by the fence. Pure.
std::string MetricsText(const CandidateView& view, uint64_t refused_writes);

}  // namespace attune::leadership
