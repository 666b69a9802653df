// The coordinator of one job: membership, the shard map, tables, data leases, clocks, goals and saves. A state machine
// without sockets, threads or clock, run inside one server. Each mechanism is a class of its own; what is here is the
// dispatch of inputs, and the order of the steps that follow from them:
//   admissions, departures   who joins, leaves, is lost; what the others hear of it
//   member_watch             who is silent, gone, or does not reach others
//   placement                where shards lie, and the map that says so
//   table_service            tables that workers open and servers install
//   lease_service, pace      training data; steps of the workers
//   checkpoints              rows and data, cut at one step
//   inquiry, restoration     another coordinator has led the job
//   state/                   what they remember and share
//
// It speaks over connections, which the shell numbers; a node names itself by Join, again after every reconnect.
// Externally synchronized: one Step at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/coordinator/admissions.h"
#include "ps/core/coordinator/checkpoints.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/coordinator/departures.h"
#include "ps/core/coordinator/inquiry.h"
#include "ps/core/coordinator/lease_service.h"
#include "ps/core/coordinator/member_watch.h"
#include "ps/core/coordinator/pace.h"
#include "ps/core/coordinator/placement.h"
#include "ps/core/coordinator/restoration.h"
#include "ps/core/coordinator/state/goals.h"
#include "ps/core/coordinator/state/job_context.h"
#include "ps/core/coordinator/state/recovery_ledger.h"
#include "ps/core/coordinator/state/replies.h"
#include "ps/core/coordinator/table_service.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/message_rights.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

class CoordinatorCore {
 public:
  explicit CoordinatorCore(CoordinatorOptions options);

  void Step(CoordinatorInput input, MonotonicTime now, CoordinatorOutputs& out);
  MonotonicTime WakeAt() const { return job_.phase().superseded() ? kNever : job_.times().next_check(); }

  JobProgress progress() const;
  // Whether it may decide anything at this time of its clock: never two coordinators of a job at one time.
  bool MayAct(MonotonicTime now) const {
    return !job_.phase().taking_over() && !job_.phase().superseded() && job_.leadership().Held(now);
  }
  const ShardMap& map() const { return job_.map(); }
  // Whether every shard lay where it is to lie when that was looked at last.
  bool settled() const { return placement_.settled(); }
  // Messages dropped because their senders may not say such a thing (message_rights.h).
  uint64_t without_right() const { return rights_.refused(); }
  // What it knows, newer than every copy, when another one is to follow; empty when it knows nothing itself. It must
  // take no step afterwards.
  std::optional<CoordinatorRecord> LastRecord() const;

 private:
  using Node = MemberState;

  void SkipPause(CoordinatorOutputs& out);
  void Continue(CoordinatorOutputs& out);

  // --- inputs
  void On(FromConnection input, CoordinatorOutputs& out);
  void On(ConnectionClosed input, CoordinatorOutputs& out);
  void On(FromOperator input, CoordinatorOutputs& out);
  void On(const CoordinatorTimer& input, CoordinatorOutputs& out);
  template <typename Kind>  // of the files of a checkpoint
  void On(const Kind& input, CoordinatorOutputs& out) {
    AfterCut(checkpoints_.On(input, out), out);
  }
  void OnJoin(ConnectionId from, const Join& join, CoordinatorOutputs& out);
  bool TakeUp(Node& node, const Message& message, CoordinatorOutputs& out);

  // --- messages of members; those that a coordinator never gets are ignored. Requests were taken up.
  template <typename Kind>
  void OnMessage(Node& node, const Kind& message, CoordinatorOutputs& out) {
    if constexpr (requires { tables_.OnMessage(node, message, out); }) {
      tables_.OnMessage(node, message, out);
    } else if constexpr (requires { leases_.OnMessage(node, message, out); }) {
      leases_.OnMessage(node, message, out);
      // A request too: a job that is resumed after its last item learns by it that the goal is reached, before what
      // follows the goal is asked for.
      constexpr bool kOfLease =
          std::is_same_v<Kind, LeaseRequest> || std::is_same_v<Kind, LeaseDone> || std::is_same_v<Kind, LeaseReturn>;
      if constexpr (kOfLease) CheckGoals(out);
    } else if constexpr (requires { AfterCut(checkpoints_.OnMessage(node, message, out), out); }) {
      AfterCut(checkpoints_.OnMessage(node, message, out), out);
    } else if constexpr (requires { checkpoints_.OnMessage(node, message, out); }) {
      checkpoints_.OnMessage(node, message, out);
    } else if constexpr (requires { placement_.OnMessage(node, message, out); }) {
      placement_.OnMessage(node, message, out);
    }
  }
  void OnMessage(Node& node, const Heartbeat& message, CoordinatorOutputs& out);
  void OnMessage(Node& node, const TableInstalled& message, CoordinatorOutputs& out);
  void OnMessage(Node& node, const ReportMetric& message, CoordinatorOutputs& out);
  void OnMessage(Node& node, const Leave& message, CoordinatorOutputs& out);
  void OnMessage(Node& node, const MirrorAck& message, CoordinatorOutputs& out);

  // --- commands of the operator
  template <typename Kind>
  void OnCommand(CommandId id, const Kind& command, MonotonicTime deadline, CoordinatorOutputs& out) {
    if constexpr (requires { placement_.OnCommand(id, command, deadline, out); }) {
      placement_.OnCommand(id, command, deadline, out);
    } else if constexpr (requires { checkpoints_.OnCommand(id, command, deadline, out); }) {
      checkpoints_.OnCommand(id, command, deadline, out);
    } else if constexpr (requires { pace_.OnCommand(id, command, deadline, out); }) {
      pace_.OnCommand(id, command, deadline, out);
    } else {
      JobContext::Answer(id, Error(StatusCode::kUnimplemented, "this coordinator cannot do that yet"), {}, out);
    }
  }
  void OnCommand(CommandId id, const NodeGone& command, MonotonicTime deadline, CoordinatorOutputs& out);
  void OnCommand(CommandId id, const ConfirmLeader& command, MonotonicTime deadline, CoordinatorOutputs& out);

  // --- what follows
  void CheckLease(CoordinatorOutputs& out);
  void CheckLiveness(CoordinatorOutputs& out);
  void EndLeave(NodeId id, CoordinatorOutputs& out);
  void ContinuePlacement(CoordinatorOutputs& out);
  void AfterCut(Checkpoints::Outcome outcome, CoordinatorOutputs& out);
  void ContinueMirror(CoordinatorOutputs& out);
  void ReleaseMirrored(CoordinatorOutputs& out);
  CoordinatorRecord Record() const;
  void ContinueTakeover(CoordinatorOutputs& out);
  void CheckGoals(CoordinatorOutputs& out);
  void FinishWhenEmpty(CoordinatorOutputs& out);
  void FailJob(const Status& reason, CoordinatorOutputs& out);
  void AnswerAll(const Status& status, CoordinatorOutputs& out);

  RightsCheck rights_{Party::kCoordinator};

  // What the parts share.
  JobContext job_;
  Replies replies_{job_};
  RecoveryLedger recoveries_;
  Goals goals_{job_, replies_};

  Pace pace_{job_};
  TableService tables_{job_, replies_};
  LeaseService leases_{job_, replies_, goals_, pace_};
  Checkpoints checkpoints_{job_, replies_, recoveries_, goals_, pace_, tables_, leases_};
  MemberWatch watch_{job_, recoveries_};
  Placement placement_{job_, replies_, recoveries_, tables_, checkpoints_, watch_};
  Departures departures_{job_,    replies_, recoveries_,  goals_, pace_,
                         tables_, leases_,  checkpoints_, watch_, placement_};
  Admissions admissions_{job_,    replies_,     recoveries_, goals_,     pace_,
                         tables_, checkpoints_, watch_,      placement_, departures_};
  Inquiry inquiry_{job_};
  Restoration restoration_{job_,    replies_, recoveries_, goals_,     pace_,
                           tables_, leases_,  watch_,      placement_, departures_};
};

}  // namespace attune::ps
