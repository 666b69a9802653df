// What the process that runs the coordinator reports of its job, as messages (proto/attune/v1/telemetry.proto). Pure.
#pragma once

#include <cstdint>
#include <string>

#include "attune/v1/telemetry.pb.h"
#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

// A checkpoint whose manifest is written.
struct WrittenCheckpoint {
  std::string directory;
  WallTime complete_at;
  uint64_t bytes = 0, rows = 0;
  uint64_t number = 0, step = 0;
};
v1::CheckpointState ToProto(const WrittenCheckpoint& checkpoint);

// What this release's servers can do beside serving; the operator asks for nothing else. A flag is true when the whole
// way from the coordinator's command to the rows is there.
v1::Abilities AbilitiesOfServers();

// Whether the coordinator of this term may act.
v1::LeaderLease LeaseToProto(const JobProgress& progress, uint32_t term);

// Where the job stands, all but the checkpoint and the speed of relocations, which the process measures. A coordinator
// that is taking over has nothing to report.
v1::JobWindow ToProto(const JobProgress& progress, const ShardMap& map, uint32_t term);

}  // namespace attune::ps
