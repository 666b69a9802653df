// Servers that a job begins with, and those that join, leave and are replaced while it runs. A server is emptied by the
// coordinator before its pod goes; one that is lost is reported to the coordinator before its successor, a new node, is
// made.
#pragma once

#include <string>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"
#include "operator/controller/plan/coordinator.h"
#include "operator/controller/plan/directives.h"
#include "operator/controller/plan/servers.h"

namespace attune::controller {

struct ServerChanges {
  int32_t joining = 0, leaving = 0, replaced = 0;  // in progress
  std::string refused;                             // by the coordinator, why; "" when it was not
};

ServerChanges PlanServerChanges(const Observed& observed, const ServersView& servers,
                                const CoordinatorView& coordinator, const PlanOptions& options, Now now,
                                Directives& directives, Draft& draft);

}  // namespace attune::controller
