// A program's result as it is reported: what can be reported as it is, and the name of everything that cannot.
#pragma once

#include "attune/ps/session.h"
#include "attune/v1/telemetry.pb.h"

namespace attune::ps {

inline constexpr size_t kMetricsMax = 64;  // as many as the job's status keeps

// Metrics that are no numbers, that have no proper name, or that are too many (by name, the last ones) are left out and
// named in `left_out`; texts are cut. It always fits one message to the sidecar.
v1::FinalReport MakeFinalReport(const FinalResult& result);

}  // namespace attune::ps
