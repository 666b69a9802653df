// Where shards lie, and the map that says so (docs/protocol.md#where-shards-lie): servers that are wanted, drained or
// hot, copies, and one batch of changes after another. Which orders of the operator wait is known in
// state/pending_orders.h, what should move next in ps/core/membership/placement_planner.h. Externally synchronized.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time_source.h"
#include "ps/core/coordinator/balance/load_balance.h"
#include "ps/core/coordinator/checkpoints.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/coordinator/member_watch.h"
#include "ps/core/coordinator/state/job_context.h"
#include "ps/core/coordinator/state/pending_orders.h"
#include "ps/core/coordinator/state/recovery_ledger.h"
#include "ps/core/coordinator/state/replies.h"
#include "ps/core/coordinator/table_service.h"
#include "ps/core/membership/members/row_reports.h"
#include "ps/core/membership/placement_planner.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

class Placement {
 public:
  // All of them outlive it.
  Placement(JobContext& job, Replies& replies, RecoveryLedger& recoveries, const TableService& tables,
            const Checkpoints& checkpoints, const MemberWatch& watch);

  // --- the map

  // Once all servers have joined that the job starts with: it serves.
  void FormWhenComplete(CoordinatorOutputs& out);
  // All members get the next map, with those who are members now. Nothing before there is one.
  void PublishMembers(CoordinatorOutputs& out);
  void Publish(ShardMap map, CoordinatorOutputs& out);
  // The next map names the first copy of the coordinator's record that counts.
  void PublishRecordsFrom(uint64_t number, CoordinatorOutputs& out);

  // A member that has an older one than there is gets it.
  void OnMessage(const MemberState& node, const MapRequest& message, CoordinatorOutputs& out) const;

  // --- servers

  // One has joined: it is wanted, or drained as an order says.
  void WantServer(MemberState& server);
  // What a member says of its rows.
  void OnMessage(MemberState& node, const RowsReport& message, CoordinatorOutputs& out);
  // What a server has been asked for.
  void OnMessage(const MemberState& server, const LoadReport& message, CoordinatorOutputs&) {
    balance_.OnReport(server.member.node, message, job_.map(), job_.now());
  }
  void OnCommand(CommandId id, const DrainServer& command, MonotonicTime deadline, CoordinatorOutputs& out);
  void OnCommand(CommandId id, const SetServers& command, MonotonicTime deadline, CoordinatorOutputs& out);
  void OnCommand(CommandId id, const SetBackups& command, MonotonicTime deadline, CoordinatorOutputs& out);
  // Orders that are done or late.
  void AnswerOrders(CoordinatorOutputs& out);
  std::vector<CommandId> AbandonAll() { return orders_.AbandonAll(); }

  // --- changes

  // Something may have to be changed.
  void NoteChange() { orders_.NoteChange(); }
  // Continues with what is to be changed, if anything can be. Returns who has been asked to leave, or has asked, and
  // holds nothing any more: they are to be released, and all shards have their place only then.
  std::vector<NodeId> Continue(CoordinatorOutputs& out);
  // From time to time: a server that is asked for much more than the others is to give shards away.
  void RelieveHotServer(CoordinatorOutputs& out);
  // This process has stood still.
  void SkipPause(Duration pause) { balance_.SkipPause(pause); }
  // Every shard lay where it is to lie when that was looked at last.
  bool settled() const { return orders_.settled(); }

  // --- records

  void Restore(const CoordinatorRecord& record);
  void Fill(CoordinatorRecord& record) const;
  void Fill(JobProgress& progress) const;

 private:
  PlacementGoal GoalFor(std::vector<NodeId> servers) const;
  bool MayChange() const;
  bool MayRelieve() const;
  // True: there was something to change.
  bool ChangeNext(const std::vector<NodeId>& servers, CoordinatorOutputs& out);
  std::vector<NodeId> Leavers() const;
  void Settle(const std::vector<NodeId>& servers, CoordinatorOutputs& out);

  JobContext& job_;
  Replies& replies_;
  RecoveryLedger& recoveries_;
  const TableService& tables_;
  const Checkpoints& checkpoints_;
  const MemberWatch& watch_;
  PlacementOrders orders_;
  RowReports reports_;
  LoadBalance balance_;
};

}  // namespace attune::ps
