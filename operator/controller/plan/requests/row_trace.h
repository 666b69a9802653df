// A row of the running job that is looked at for some seconds (api/status/row_trace_status.h): each process is asked,
// and what they say goes into the status at once, when all have answered or are given up. It stays there for some
// minutes only.
#pragma once

#include <optional>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/plan/directives.h"

namespace attune::controller {

// What becomes of status.rowTrace; nullopt: it stays as it is.
std::optional<api::RowTraceStatus> PlanRowTrace(const Observed& observed, Now now, Directives& directives,
                                                Draft& draft);

}  // namespace attune::controller
