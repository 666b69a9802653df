// Checkpoints: all workers stand before a step, all nodes copy their rows, workers continue, nodes write
// (docs/protocol.md#checkpoints). Under Async no worker stands; then only items known to be done before the first mark
// count as contained. What a program saves goes the same way, but waits for no step and says nothing about data. Which
// cut is in progress, and who has copied and written, is known in state/checkpoint_cuts.h. Externally synchronized.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/coordinator/lease_service.h"
#include "ps/core/coordinator/pace.h"
#include "ps/core/coordinator/state/checkpoint_cuts.h"
#include "ps/core/coordinator/state/goals.h"
#include "ps/core/coordinator/state/job_context.h"
#include "ps/core/coordinator/state/recovery_ledger.h"
#include "ps/core/coordinator/state/replies.h"
#include "ps/core/coordinator/table_service.h"
#include "ps/core/protocol/cut_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

class Checkpoints {
 public:
  // What has become of the cut in progress.
  enum class Outcome : uint8_t {
    kNothing,    // that others would act on
    kPartIn,     // a node has written its part, and may leave
    kContinues,  // all have copied: workers continue, rows may move
    kEnded,      // well or not
    kBestEnded,  // as kEnded; the end of the job may have waited for it
  };

  // All of them outlive it.
  Checkpoints(JobContext& job, Replies& replies, RecoveryLedger& recoveries, Goals& goals, Pace& pace,
              TableService& tables, LeaseService& leases)
      : job_(job),
        replies_(replies),
        recoveries_(recoveries),
        goals_(goals),
        pace_(pace),
        tables_(tables),
        leases_(leases),
        cuts_(job.options().term, job.options().mark_timeout, job.mutations()) {}

  // --- requests

  void OnCommand(CommandId id, const TakeCheckpoint& command, MonotonicTime deadline, CoordinatorOutputs& out);
  // The request was taken up.
  void OnMessage(const MemberState& node, const SaveTables& message, CoordinatorOutputs& out);
  std::vector<CommandId> AbandonAll() { return cuts_.AbandonAll(); }
  // One is asked for because a metric is better than ever before.
  bool HasBest() const { return cuts_.HasBest(); }

  // --- the one in progress

  // With every step.
  Outcome Continue(CoordinatorOutputs& out);
  Outcome On(const CheckpointBegun& input, CoordinatorOutputs& out);
  Outcome On(const CheckpointCommitted& input, CoordinatorOutputs& out);
  void OnMessage(const MemberState& node, const MarkDone& message, CoordinatorOutputs&) {
    cuts_.OnMarked(message.cut, node.member.node);
  }
  Outcome OnMessage(const MemberState& node, const SnapshotDone& message, CoordinatorOutputs& out);
  // What the node has been sent about it and has not answered.
  void SendOrder(const MemberState& node, CoordinatorOutputs& out) const;

  // --- members

  // A node that may own rows from now on.
  void TakeIn(NodeId node) { cuts_.TakeIn(node); }
  void NoteGone(NodeId node, const Status& why) { cuts_.NoteGone(node, why); }
  bool HasOpenPart(NodeId node) const { return cuts_.HasOpenPart(node); }

  // --- state

  // Rows are being copied: none may move meanwhile.
  bool Marking() const { return cuts_.Marking(); }
  // The synchronization mode must not change meanwhile.
  bool PreparesCopies() const { return cuts_.PreparesCopies(); }
  // The newest whose marks are complete.
  CutId marked() const { return cuts_.marked(); }
  void Fill(JobProgress& progress) const;
  void SkipPause(Duration pause) { cuts_.SkipPause(pause); }

 private:
  void CutTheBest();
  bool RowsCanBeCopied() const;
  CutRecord RecordNow() const;
  void MarkAll(CoordinatorOutputs& out);
  Outcome WriteAll(CoordinatorOutputs& out);
  Outcome End(const Status& status, CoordinatorOutputs& out);
  void Remember(const CheckpointCut& cut, CoordinatorOutputs& out);

  JobContext& job_;
  Replies& replies_;
  RecoveryLedger& recoveries_;
  Goals& goals_;
  Pace& pace_;
  TableService& tables_;
  LeaseService& leases_;
  CheckpointCuts cuts_;
};

}  // namespace attune::ps
