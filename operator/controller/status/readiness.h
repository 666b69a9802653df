// Why a role is not ready, from its pods: the scheduler's, the kubelet's and our own reasons, the most specific first.
#pragma once

#include <string>

#include "operator/controller/observe/observed.h"
#include "operator/controller/plan/servers.h"
#include "operator/controller/plan/workers.h"

namespace attune::controller {

struct Readiness {
  bool ready = false;
  std::string reason;
  std::string message;
};

Readiness ServersReadiness(const Observed& observed, const ServersView& servers);
Readiness WorkersReadiness(const Observed& observed, const ServersView& servers, const WorkersView& workers);

}  // namespace attune::controller
