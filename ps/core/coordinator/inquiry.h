// A coordinator that follows another one asks all members for their promises, until it knows enough to act: when no
// earlier coordinator can be leading, this one is, and every member of the newest map has answered or counts as lost
// (docs/protocol.md#another-coordinator; ps/core/membership/takeover.h). Externally synchronized.
#pragma once

#include <optional>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/coordinator/state/job_context.h"
#include "ps/core/membership/takeover.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

class Inquiry {
 public:
  // What is known when it ends.
  struct Found {
    ShardMap map;                             // the newest
    std::optional<CoordinatorRecord> record;  // nullopt: no copy is left
  };

  // `job` outlives it.
  explicit Inquiry(JobContext& job);

  // With the coordinator's first step.
  void Begin() { takeover_.Begin(job_.now()); }
  void OnJoin(ConnectionId from, const Join& join, CoordinatorOutputs& out);
  void OnPromised(ConnectionId from, const Promised& message);
  void OnClosed(ConnectionId connection) { takeover_.NoteClosed(connection); }
  // The platform has named the process as gone.
  void NoteGone(const NodeGone& process) { takeover_.NoteGone(process.role, process.index, process.pod, job_.now()); }
  // What servers have answered ages.
  void AskAgain(CoordinatorOutputs& out);
  // With every step. nullopt: it waits, or the coordinator has ended with its server.
  std::optional<Found> Continue(CoordinatorOutputs& out);

  // Nothing is asked any more.
  PreviousMembers End() { return takeover_.End(); }
  // All hear that no copy of the record is left, so that the job cannot continue. Returns why.
  Status EndWithoutRecord(CoordinatorOutputs& out) const;

  void Fill(JobProgress& progress) const;
  void SkipPause(Duration pause) { takeover_.SkipPause(pause); }

 private:
  void Ask(const Takeover::Question& question, CoordinatorOutputs& out);
  void EndWithItsServer(ConnectionId server, CoordinatorOutputs& out);

  JobContext& job_;
  Takeover takeover_;
};

}  // namespace attune::ps
