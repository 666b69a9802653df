// The state of a job that another coordinator has led, from the record that one of the servers kept, and from what the
// members have answered (docs/protocol.md#another-coordinator). Externally synchronized.
#pragma once

#include <vector>

#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/coordinator/departures.h"
#include "ps/core/coordinator/lease_service.h"
#include "ps/core/coordinator/member_watch.h"
#include "ps/core/coordinator/pace.h"
#include "ps/core/coordinator/placement.h"
#include "ps/core/coordinator/state/goals.h"
#include "ps/core/coordinator/state/job_context.h"
#include "ps/core/coordinator/state/recovery_ledger.h"
#include "ps/core/coordinator/state/replies.h"
#include "ps/core/coordinator/table_service.h"
#include "ps/core/membership/takeover.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

class Restoration {
 public:
  // All of them outlive it.
  Restoration(JobContext& job, Replies& replies, RecoveryLedger& recoveries, Goals& goals, Pace& pace,
              TableService& tables, LeaseService& leases, MemberWatch& watch, Placement& placement,
              Departures& departures)
      : job_(job),
        replies_(replies),
        recoveries_(recoveries),
        goals_(goals),
        pace_(pace),
        tables_(tables),
        leases_(leases),
        watch_(watch),
        placement_(placement),
        departures_(departures) {}

  // Once, before anything else is done with the job. Those who have answered are members from then on, and have yet to
  // be welcomed; the others are lost.
  void Restore(const ShardMap& map, const CoordinatorRecord& record, const PreviousMembers& previous,
               CoordinatorOutputs& out);

 private:
  struct Lost {
    std::vector<NodeId> nodes;
    bool recovery = false;  // rows are to be recovered
  };
  void RestoreStarted(const CoordinatorRecord& record);
  Lost RestoreMembers(const ShardMap& map, const CoordinatorRecord& record, const PreviousMembers& previous);
  void RestoreMap(const ShardMap& map, const Lost& lost, const std::vector<NodeId>& without_tables,
                  CoordinatorOutputs& out);
  void AnswerOthers(const PreviousMembers& previous, CoordinatorOutputs& out);
  void RestoreClocks();

  JobContext& job_;
  Replies& replies_;
  RecoveryLedger& recoveries_;
  Goals& goals_;
  Pace& pace_;
  TableService& tables_;
  LeaseService& leases_;
  MemberWatch& watch_;
  Placement& placement_;
  Departures& departures_;
};

}  // namespace attune::ps
