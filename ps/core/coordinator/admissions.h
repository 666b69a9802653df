// Who takes part: processes that join, members whose connections have broken, and what those hear that are none any
// more. Externally synchronized.
#pragma once

#include <map>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/coordinator/checkpoints.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/coordinator/departures.h"
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

class Admissions {
 public:
  // All of them outlive it.
  Admissions(JobContext& job, Replies& replies, const RecoveryLedger& recoveries, Goals& goals, Pace& pace,
             TableService& tables, Checkpoints& checkpoints, MemberWatch& watch, Placement& placement,
             Departures& departures)
      : job_(job),
        replies_(replies),
        recoveries_(recoveries),
        goals_(goals),
        pace_(pace),
        tables_(tables),
        checkpoints_(checkpoints),
        watch_(watch),
        placement_(placement),
        departures_(departures) {}

  void OnJoin(ConnectionId from, const Join& join, CoordinatorOutputs& out);
  // From a process that was `node`.
  void OnGone(ConnectionId from, NodeId node, const Message& message, CoordinatorOutputs& out) const;
  void SendWelcome(const MemberState& node, CoordinatorOutputs& out);

  // A refusal may still be on its way through this connection. Closing it for what the process sends meanwhile could
  // discard the refusal: a process whose heartbeats come faster than answers reach it would join again and again, and
  // never learn.
  bool HasRefused(ConnectionId connection) const { return refused_.contains(connection); }
  void OnClosed(ConnectionId connection) { refused_.erase(connection); }
  // Connections to be closed, for the refused process has not closed them within a liveness lease.
  std::vector<ConnectionId> ExpireRefused();

 private:
  void Refuse(ConnectionId from, Status why, CoordinatorOutputs& out);
  // The process is to end by this answer.
  void TurnAway(ConnectionId from, Message answer, CoordinatorOutputs& out);
  void OnReturn(MemberState& node, ConnectionId from, const Join& join, CoordinatorOutputs& out);
  void OnUnknownMember(ConnectionId from, const Join& join, CoordinatorOutputs& out);
  Status Check(const Join& join) const;
  bool TakePlace(const Join& join, CoordinatorOutputs& out);
  void Admit(ConnectionId from, const Join& join, CoordinatorOutputs& out);

  JobContext& job_;
  Replies& replies_;
  const RecoveryLedger& recoveries_;
  Goals& goals_;
  Pace& pace_;
  TableService& tables_;
  Checkpoints& checkpoints_;
  MemberWatch& watch_;
  Placement& placement_;
  Departures& departures_;
  std::map<ConnectionId, MonotonicTime> refused_;  // since when
};

}  // namespace attune::ps
