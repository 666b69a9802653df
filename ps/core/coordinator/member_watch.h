// Which members are silent, gone, or do not reach each other, and whether they can be spared. A member that does not
// reach others is given up (ps/core/membership/link_watch.h): its heartbeats do not count any more, so that it is lost
// like one that is silent. What the platform reports of ended processes is answered here, too. Externally synchronized.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/coordinator/state/job_context.h"
#include "ps/core/coordinator/state/pending_orders.h"
#include "ps/core/coordinator/state/recovery_ledger.h"
#include "ps/core/membership/link_watch.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

class MemberWatch {
 public:
  // Both outlive it.
  MemberWatch(JobContext& job, const RecoveryLedger& recoveries)
      : job_(job), recoveries_(recoveries), links_(job.options().link_timeout) {}

  // --- heartbeats

  // True: it has all its links now, or misses one, or has another map: where shards lie may change by that. A joining
  // member without all of its links is given none.
  bool NoteLinks(const MemberState& node, const Heartbeat& heartbeat);
  // It is heard, unless it is given up.
  void Heard(MemberState& node);
  bool IsGivenUp(NodeId node) const { return links_.IsGivenUp(node); }

  // --- links

  // Who is given up from now on.
  void CheckLinks(CoordinatorOutputs& out);
  const LinkWatch& links() const { return links_; }
  void Forget(NodeId node) { links_.Forget(node); }

  // --- losses

  // Silent for longer than any lease that they can have, where all of those can be spared.
  std::set<NodeId> Lost() const;
  // Of those.
  Status WhyLost(NodeId silent) const;

  // --- ended processes

  // Taken up, and answered when the process has no part in the job any more. False: refused.
  bool OnGone(CommandId id, const NodeGone& command, MonotonicTime deadline, CoordinatorOutputs& out);
  void AnswerGoneOrders(CoordinatorOutputs& out);
  std::vector<CommandId> AbandonAll() { return gone_orders_.AbandonAll(); }

  // This process has stood still.
  void SkipPause(Duration pause) { links_.Forgive(pause, job_.now()); }

 private:
  bool MayGiveUp(const MemberState& node) const;
  std::optional<LinkWatch::Candidate> WhoMayBeGivenUp(NodeId id) const;
  std::string WhyGivenUp(NodeId id) const;

  JobContext& job_;
  const RecoveryLedger& recoveries_;
  LinkWatch links_;
  GoneOrders gone_orders_;
};

}  // namespace attune::ps
