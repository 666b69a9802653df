// What an operator may ask of a running job, as inputs of the coordinator. Each is answered by exactly one
// CommandResult with the same id: when it is done, refused, or its time is over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/row_management.h"
#include "base/status.h"
#include "base/sync_mode.h"
#include "base/time_source.h"
#include "ps/core/membership/leader_lease.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

using CommandId = StrongId<struct CommandIdTag, uint64_t>;  // chosen by the shell, unique per coordinator

// Switches at a step that no worker has begun. Done when all workers have promised to stop there and the switch is
// reported.
struct SetSynchronization {
  SyncMode mode;
};
// Workers hear of it with their next heartbeats. Done at once.
struct SetRowManagement {
  RowManagement management = RowManagement::kAdaptive;
};
// Writes a checkpoint below this directory, which all servers share. Done when its manifest is written.
struct TakeCheckpoint {
  std::string directory;
};
// Moves everything away from this server. Done when it holds nothing; its process may then end, the job continues.
// FailedPrecondition when no other server is left.
struct DrainServer {
  uint32_t index = 0;
};
// The job is to have servers 0 .. servers - 1: those above are drained, those missing are taken up when they join. Done
// when the shards lie on all of them.
struct SetServers {
  uint32_t servers = 0;
};
// 0 or 1 second copies of every shard. Done when it is announced; copies are made as fast as moves are allowed.
struct SetBackups {
  uint32_t backups = 0;
};
// Proof by the platform that the process is gone for good: no caller need wait for its liveness lease.
struct NodeGone {
  Role role = Role::kServer;
  uint32_t index = 0;
  uint32_t pod = 0;  // whose pod (PodNumber); 0: not known, so the node has to be silent as well
};

// The operator has recorded, before anything else was appointed, that the coordinator of this term continues with these
// voters (ps/core/membership/leader_lease.h).
struct ConfirmLeader {
  uint32_t term = 0;
  Voters voters;
};

// For a server, not for a coordinator: run one of this term, in place of another that is gone, silent or leaves.
struct HostCoordinator {
  uint32_t term = 0;
  std::optional<Voters> voters;  // confirmed last, if any ever were
};

using Command = std::variant<SetSynchronization, SetRowManagement, TakeCheckpoint, DrainServer, SetServers, SetBackups,
                             NodeGone, ConfirmLeader, HostCoordinator>;

struct CommandResult {
  CommandId id;
  Status status;
  std::string text;  // "bsp from step 412 on"
};

}  // namespace attune::ps
