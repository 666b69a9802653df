// The coordinator of one job: membership, the shard map, tables, data leases, clocks, goals and saves. A state machine
// without sockets, threads or clock, run inside one server. Each mechanism is a class of its own (ps/core/membership/,
// ps/core/progress/, and beside this file); what is here is the dispatch of inputs and the order of the steps that
// follow from them.
//
// It speaks over connections, which the shell numbers; a node names itself by Join, again after every reconnect.
// Externally synchronized: one Step at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/coordinator/state/check_times.h"
#include "ps/core/coordinator/state/checkpoint_cuts.h"
#include "ps/core/coordinator/state/pending_orders.h"
#include "ps/core/coordinator/state/record_mirror.h"
#include "ps/core/coordinator/state/recovery_ledger.h"
#include "ps/core/link/request_book.h"
#include "ps/core/membership/leadership.h"
#include "ps/core/membership/link_watch.h"
#include "ps/core/membership/member_table.h"
#include "ps/core/membership/placement_planner.h"
#include "ps/core/membership/takeover.h"
#include "ps/core/progress/clock_board.h"
#include "ps/core/progress/data_sets.h"
#include "ps/core/progress/job_ending.h"
#include "ps/core/progress/job_tables.h"
#include "ps/core/progress/straggler_watch.h"
#include "ps/core/progress/training_state.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/cut_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/message_rights.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

class CoordinatorCore {
 public:
  explicit CoordinatorCore(CoordinatorOptions options);

  void Step(CoordinatorInput input, MonotonicTime now, CoordinatorOutputs& out);
  MonotonicTime WakeAt() const;

  JobProgress progress() const;
  // Whether it may decide anything at this time of its clock: never two coordinators of a job at one time.
  bool MayAct(MonotonicTime now) const { return !TakingOver() && !superseded_ && leadership_.Held(now); }
  const ShardMap& map() const { return map_; }
  // Whether every shard lay where it is to lie when that was looked at last.
  bool settled() const { return placement_.settled(); }
  // Messages dropped because their senders may not say such a thing (message_rights.h).
  uint64_t without_right() const { return rights_.refused(); }
  // What it knows, newer than every copy, when another one is to follow; empty when it knows nothing itself. It must
  // take no step afterwards.
  std::optional<CoordinatorRecord> LastRecord() const;

 private:
  // kTakingOver: until all members of the job have answered; kLeading: whenever it holds the leader lease; kFinished:
  // the goal is reached, the closing work done, and all workers have left.
  enum class Phase : uint8_t { kTakingOver, kLeading, kFinished };
  using Node = MemberState;

  void SkipPause(MonotonicTime now, CoordinatorOutputs& out);
  void Heard(Node& node, MonotonicTime now);
  void On(FromConnection input, MonotonicTime now, CoordinatorOutputs& out);
  void On(ConnectionClosed input, MonotonicTime now, CoordinatorOutputs& out);
  void On(FromOperator input, MonotonicTime now, CoordinatorOutputs& out);
  void On(CoordinatorTimer input, MonotonicTime now, CoordinatorOutputs& out);

  // coordinator_members.cpp
  void OnJoin(ConnectionId from, const Join& join, MonotonicTime now, CoordinatorOutputs& out);
  void OnReturn(Node& node, ConnectionId from, const Join& join, MonotonicTime now, CoordinatorOutputs& out);
  Status CheckJoin(const Join& join) const;
  void Admit(ConnectionId from, const Join& join, MonotonicTime now, CoordinatorOutputs& out);
  void WantServer(Node& server);
  void SendWelcome(Node& node, CoordinatorOutputs& out);
  void FormMapWhenComplete(CoordinatorOutputs& out);
  void PublishMembers(CoordinatorOutputs& out);
  void Publish(ShardMap map, CoordinatorOutputs& out);
  void Remove(NodeId id, Status why);
  void AnswerGone(ConnectionId from, NodeId node, const Message& message, CoordinatorOutputs& out);
  void SendOpenOrders(const Node& server, CoordinatorOutputs& out);
  void LoseWorker(NodeId id, const Status& reason, CoordinatorOutputs& out);
  void FailJob(const Status& reason, CoordinatorOutputs& out);
  void CheckLiveness(MonotonicTime now, CoordinatorOutputs& out);
  void LoseTheGone(MonotonicTime now, CoordinatorOutputs& out);

  // coordinator_links.cpp
  void NoteLinks(const Node& node, const Heartbeat& heartbeat, MonotonicTime now);
  void CheckLinks(MonotonicTime now, CoordinatorOutputs& out);
  bool MayGiveUp(const Node& node, MonotonicTime now) const;
  std::optional<LinkWatch::Candidate> WhoMayBeGivenUp(NodeId id, MonotonicTime now) const;
  std::string WhyGivenUp(NodeId id, MonotonicTime now) const;

  // coordinator_lease.cpp
  void CheckLease(MonotonicTime now, CoordinatorOutputs& out);
  void OnCommand(CommandId id, const ConfirmLeader& command, MonotonicTime deadline, CoordinatorOutputs& out);

  // coordinator_placement.cpp
  void OnMessage(Node& node, const RowsReport& message, MonotonicTime now, CoordinatorOutputs& out);
  void OnCommand(CommandId id, const DrainServer& command, MonotonicTime deadline, CoordinatorOutputs& out);
  void OnCommand(CommandId id, const SetServers& command, MonotonicTime deadline, CoordinatorOutputs& out);
  void OnCommand(CommandId id, const SetBackups& command, MonotonicTime deadline, CoordinatorOutputs& out);
  void OnCommand(CommandId id, const NodeGone& command, MonotonicTime deadline, CoordinatorOutputs& out);
  void AnswerGoneOrders(MonotonicTime now, CoordinatorOutputs& out);
  void LoseServer(NodeId id, const Status& reason, CoordinatorOutputs& out);
  void LoseNode(NodeId id, const Status& reason, CoordinatorOutputs& out);
  void ReplaceLastServer(CoordinatorOutputs& out);
  void TakeFromNewest();
  bool ReleaseLeavers(CoordinatorOutputs& out);
  void EndLeave(NodeId id, CoordinatorOutputs& out);
  PlacementGoal GoalOfPlacement(std::vector<NodeId> servers) const;
  void GoOnWithPlacement(MonotonicTime now, CoordinatorOutputs& out);
  void AnswerPlacementOrders(MonotonicTime now, CoordinatorOutputs& out);

  // coordinator_mirror.cpp
  void OnMessage(Node& node, const MirrorAck& message, MonotonicTime now, CoordinatorOutputs& out);
  CoordinatorRecord RecordAll() const;
  void GoOnWithMirror(CoordinatorOutputs& out);
  void ReleaseAnswers(bool all, CoordinatorOutputs& out);
  void DropOlderCopies(CoordinatorOutputs& out);
  void ReleaseMirrored(CoordinatorOutputs& out);

  // coordinator_takeover.cpp
  void OnFormerMember(ConnectionId from, const Join& join, CoordinatorOutputs& out);
  void OnPromised(ConnectionId from, const Promised& message, MonotonicTime now);
  void AskForPromise(const Takeover::Question& question, CoordinatorOutputs& out);
  void AskForPromisesAgain(CoordinatorOutputs& out);
  void EndWithItsServer(ConnectionId server, CoordinatorOutputs& out);
  void FailWithoutRecord(const ShardMap& map, CoordinatorOutputs& out);
  void GoOnWithTakeover(MonotonicTime now, CoordinatorOutputs& out);
  void TakeOver(const ShardMap& map, const CoordinatorRecord& record, MonotonicTime now, CoordinatorOutputs& out);
  void RestoreFrom(const CoordinatorRecord& record, MonotonicTime now);
  void RestoreSteps(const PreviousMembers& previous);
  void RestoreTables(const CoordinatorRecord& record, const PreviousMembers& previous);
  void RestoreLeases(const CoordinatorRecord& record, CoordinatorOutputs& out);
  bool RestoreMembers(const ShardMap& map, const CoordinatorRecord& record, const PreviousMembers& previous,
                      MonotonicTime now, std::vector<NodeId>& dead);

  // coordinator_cut.cpp
  void On(CheckpointBegun input, MonotonicTime now, CoordinatorOutputs& out);
  void On(CheckpointCommitted input, MonotonicTime now, CoordinatorOutputs& out);
  void OnMessage(Node& node, const MarkDone& message, MonotonicTime now, CoordinatorOutputs& out);
  void OnMessage(Node& node, const SnapshotDone& message, MonotonicTime now, CoordinatorOutputs& out);
  void OnCommand(CommandId id, const TakeCheckpoint& command, MonotonicTime deadline, CoordinatorOutputs& out);
  void GoOnWithCut(MonotonicTime now, CoordinatorOutputs& out);
  void CutTheBest(MonotonicTime now);
  void MarkAll(MonotonicTime now, CoordinatorOutputs& out);
  void SendCutOrder(const Node& node, CoordinatorOutputs& out);
  void WriteAll(MonotonicTime now, CoordinatorOutputs& out);
  void EndCut(const Status& status, CoordinatorOutputs& out);
  void RememberCheckpoint(const CheckpointCut& cut, CoordinatorOutputs& out);
  bool RowsCanBeCopied() const;
  CutRecord RecordNow() const;

  // coordinator_clocks.cpp
  void OnCommand(CommandId id, const SetSynchronization& command, MonotonicTime deadline, CoordinatorOutputs& out);
  template <typename Other>
  void OnCommand(CommandId id, const Other&, MonotonicTime, CoordinatorOutputs& out) {
    Answer(id, Error(StatusCode::kUnimplemented, "this coordinator cannot do that yet"), {}, out);
  }
  void AnswerAll(const Status& status, CoordinatorOutputs& out);
  void Answer(CommandId id, Status status, std::string text, CoordinatorOutputs& out);
  bool HasWork(const Node& node) const;
  void UpdateCounted(Node& node);
  void GoOnWithSwitch(MonotonicTime now, CoordinatorOutputs& out);
  void SendSync(CoordinatorOutputs& out);
  void WatchFloor(MonotonicTime now, CoordinatorOutputs& out);

  // Messages of members.
  template <typename Other>
  void OnMessage(Node&, const Other&, MonotonicTime, CoordinatorOutputs&) {}
  void OnMessage(Node& node, const Heartbeat& message, MonotonicTime now, CoordinatorOutputs& out);
  void OnMessage(Node& node, const MapRequest& message, MonotonicTime now, CoordinatorOutputs& out);
  void OnMessage(Node& node, const OpenTable& message, MonotonicTime now, CoordinatorOutputs& out);
  void OnMessage(Node& node, const TableInstalled& message, MonotonicTime now, CoordinatorOutputs& out);
  void OnMessage(Node& node, const OpenDataSet& message, MonotonicTime now, CoordinatorOutputs& out);
  void OnMessage(Node& node, const LeaseRequest& message, MonotonicTime now, CoordinatorOutputs& out);
  void OnMessage(Node& node, const LeaseDone& message, MonotonicTime now, CoordinatorOutputs& out);
  void OnMessage(Node& node, const LeaseReturn& message, MonotonicTime now, CoordinatorOutputs& out);
  void OnMessage(Node& node, const SaveTables& message, MonotonicTime now, CoordinatorOutputs& out);
  void OnMessage(Node& node, const ReportMetric& message, MonotonicTime now, CoordinatorOutputs& out);
  void OnMessage(Node& node, const Leave& message, MonotonicTime now, CoordinatorOutputs& out);

  // True when the request is new and is to be handled now.
  bool TakeUp(Node& node, const RequestHeader& header, CoordinatorOutputs& out);
  void RefuseWaiting(NodeId worker, CoordinatorOutputs& out);
  void Reply(NodeId node, RequestId request, Message message, CoordinatorOutputs& out);
  void Send(const Node& node, Message message, CoordinatorOutputs& out);

  void AnswerTableWaiters(const std::vector<JobTables::Answer>& answers, CoordinatorOutputs& out);
  void AskOpenersToWait(MonotonicTime now, CoordinatorOutputs& out);
  void ServeLeases(MonotonicTime now, CoordinatorOutputs& out);
  void NoteLeaseEnded(Node& node, RequestId request, MonotonicTime now, CoordinatorOutputs& out);

  // coordinator_closing.cpp
  void MakeEvaluationDue(MonotonicTime now, CoordinatorOutputs& out);
  void CheckGoals(MonotonicTime now, CoordinatorOutputs& out);
  void ReachGoal(std::string reason, CoordinatorOutputs& out);
  void FinishWhenEmpty(CoordinatorOutputs& out);

  bool TakingOver() const { return phase_ == Phase::kTakingOver; }
  bool IsFinished() const { return phase_ == Phase::kFinished; }

  CoordinatorOptions options_;
  CheckTimes times_;
  Phase phase_ = Phase::kLeading;
  Status failed_;            // the job cannot continue
  bool superseded_ = false;  // another coordinator is at work; the phase stays what it was
  RightsCheck rights_{Party::kCoordinator};

  // Who takes part, and who leads.
  MemberTable members_;
  LinkWatch links_;
  Leadership leadership_;
  Takeover takeover_;
  RecordMirror mirror_;
  GoneOrders gone_orders_;

  // Rows.
  ShardMap map_;
  JobTables tables_;
  PlacementOrders placement_;
  RecoveryLedger recoveries_;
  CheckpointCuts cuts_;

  // Training.
  DataSets data_sets_;
  ClockBoard clocks_;
  SwitchOrders switches_;
  StragglerWatch straggler_;
  TrainingState training_;
  JobEnding end_;
};

}  // namespace attune::ps
