// What this release's servers can do beside serving, as they report to the operator, which asks for nothing else. A
// flag is true when the whole way from the coordinator's command to the rows is there.
#pragma once

#include "ps/runtime/process/reporter.h"

namespace attune::ps {

inline constexpr JobTelemetry::Abilities kAbilities{
    .elastic_servers = true,
    .server_recovery = true,
    .coordinator_failover = true,
    .synchronization_modes = true,
    .checkpoints = true,
};

}  // namespace attune::ps
