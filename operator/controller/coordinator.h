// Who runs the job's coordinator: server 0 at first; another server, under a higher term, when that one is gone or is
// to leave. The appointment is written to the status first and then told, so that a restarted operator appoints nobody
// else.
#pragma once

#include <string>

#include "operator/controller/directives.h"
#include "operator/controller/draft.h"
#include "operator/controller/observed.h"
#include "operator/controller/servers.h"

namespace attune::controller {

struct CoordinatorView {
  std::string pod;  // in office from now on; "" before the job has formed
  int64_t term = 0;
  bool moving = false;  // appointed and not heard of yet, or nobody can be appointed now
};

CoordinatorView PlanCoordinator(const Observed& observed, const ServersView& servers, Directives& directives,
                                Draft& draft);

}  // namespace attune::controller
