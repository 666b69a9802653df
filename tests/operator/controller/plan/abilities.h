// What servers of this release say they can do.
#pragma once

#include "attune/v1/telemetry.pb.h"

namespace attune::controller {

inline v1::Abilities AllAbilities() {
  v1::Abilities can;
  can.set_elastic_servers(true);
  can.set_server_recovery(true);
  can.set_coordinator_failover(true);
  can.set_synchronization_modes(true);
  can.set_checkpoints(true);
  can.set_row_management(true);
  return can;
}

}  // namespace attune::controller
