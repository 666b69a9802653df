// Members that are lost, leave or are released: what all others need to know of it, and the next map. Homes of a lost
// server's shards go to the backups; shards without one go to other servers, which restore what they can
// (docs/protocol.md#a-crash). Externally synchronized.
#pragma once

#include "base/status.h"
#include "ps/core/coordinator/checkpoints.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/coordinator/lease_service.h"
#include "ps/core/coordinator/member_watch.h"
#include "ps/core/coordinator/pace.h"
#include "ps/core/coordinator/placement.h"
#include "ps/core/coordinator/state/goals.h"
#include "ps/core/coordinator/state/job_context.h"
#include "ps/core/coordinator/state/recovery_ledger.h"
#include "ps/core/coordinator/state/replies.h"
#include "ps/core/coordinator/table_service.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

class Departures {
 public:
  // All of them outlive it.
  Departures(JobContext& job, Replies& replies, RecoveryLedger& recoveries, Goals& goals, Pace& pace,
             TableService& tables, LeaseService& leases, Checkpoints& checkpoints, MemberWatch& watch,
             Placement& placement)
      : job_(job),
        replies_(replies),
        recoveries_(recoveries),
        goals_(goals),
        pace_(pace),
        tables_(tables),
        leases_(leases),
        checkpoints_(checkpoints),
        watch_(watch),
        placement_(placement) {}

  // --- losses

  void Lose(NodeId id, const Status& reason, CoordinatorOutputs& out);
  // Whose processes have ended, as the platform reports. Without the lease no member is declared lost, for another
  // coordinator may know better.
  void LoseTheGone(CoordinatorOutputs& out);
  // Who has been silent for longer than any lease that it can have.
  void LoseTheSilent(CoordinatorOutputs& out);
  // Another server has come in the place of the last ones, which were lost.
  void ReplaceLastServers(CoordinatorOutputs& out);
  // Rows without a copy were lost: they come from the newest checkpoint.
  void TakeFromNewest();

  // --- those that go in order

  // A worker's request, which was taken up. True: nothing is left to wait for (EndLeave). Else its rows are called back
  // first, those that are still on their way to it too.
  bool OnLeave(MemberState& node, const Leave& message, CoordinatorOutputs& out);
  // It is no member any more. Returns what it had asked for.
  Leave EndLeave(NodeId id, CoordinatorOutputs& out);
  // A server that was drained. The next map is the caller's to publish.
  void Release(NodeId id, CoordinatorOutputs& out);

 private:
  void LoseWorker(NodeId id, const Status& reason, CoordinatorOutputs& out);
  void LoseServer(NodeId id, const Status& reason, CoordinatorOutputs& out);
  void Remove(NodeId id, const Status& why);

  JobContext& job_;
  Replies& replies_;
  RecoveryLedger& recoveries_;
  Goals& goals_;
  Pace& pace_;
  TableService& tables_;
  LeaseService& leases_;
  Checkpoints& checkpoints_;
  MemberWatch& watch_;
  Placement& placement_;
};

}  // namespace attune::ps
