// What a worker does with rows, from the program's call until it is answered: which of its parts acts, and in which
// order. Each part has its own state:
//
//   own_rows.h        rows that this worker owns, and Localize
//   row_routes.h      where operations go
//   worker_pushes.h   pushes
//   worker_pulls.h    pulls
//   worker_fetches.h  rows that the program has announced
//   worker_replicas.h copies of rows that it announces again and again
//
// Externally synchronized. What it is constructed with must outlive it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/intent/announced_rows.h"
#include "ps/core/intent/row_accesses.h"
#include "ps/core/intent/step_point.h"
#include "ps/core/keys/seen_versions.h"
#include "ps/core/keys/unique_keys.h"
#include "ps/core/link/liveness_lease.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/worker/rows/own_rows.h"
#include "ps/core/worker/rows/row_routes.h"
#include "ps/core/worker/rows/worker_fetches.h"
#include "ps/core/worker/rows/worker_pulls.h"
#include "ps/core/worker/rows/worker_pushes.h"
#include "ps/core/worker/rows/worker_replicas.h"
#include "ps/core/worker/worker_io.h"

namespace attune::ps {

// What is counted of rows.
struct RowCounts {
  Staleness staleness;   // of pushes to other nodes: of one row of a message, whose version at the last pull is known
  RowAccesses accesses;  // of rows that the program has pulled
  CopyCounts copies;
};

class WorkerRows {
 public:
  WorkerRows(const WorkerOptions& options, ClusterView& cluster, const LivenessLease& lease);

  // --- calls, while the session takes any. `at`: where the worker stands

  void On(const PullCall& call, const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  void On(const CancelPull& call, const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  void On(const RowsRevoked& input, const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  // Gradients count as computed in that step.
  void On(PushCall call, const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  void On(const IntendCall& call, const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  // True: this worker has to ask the coordinator for permission to own rows.
  bool Localize(const LocalizeCall& call, MonotonicTime now, WorkerOutputs& out);
  // See WorkerCore.
  bool PullHere(TableId table, std::span<const Key> keys, std::span<float> rows, const StepPoint& at, MonotonicTime now,
                CopyReads copies = CopyReads::kAnnounced);
  std::optional<Status> PushHere(TableId table, std::span<const Key> keys, std::span<const float> gradients,
                                 uint64_t step);
  // Some rows may be here, so that PullHere is worth a try.
  bool MayBeHere() const {
    return own_.rows().shards().foreign_rows() > 0 || !fetches_.empty() || replicas_.has_copies();
  }

  // --- messages. True: pushes are settled that were not; pushes().SendWaiting is due once what waited for that has
  // been done.

  bool OnMessage(NodeId from, PushAck&& message, MonotonicTime now, WorkerOutputs& out);
  bool OnMessage(NodeId from, PushRefused&& message, MonotonicTime now, WorkerOutputs& out);
  bool OnMessage(NodeId from, PullReply&& message, MonotonicTime now, WorkerOutputs& out);
  bool OnMessage(NodeId from, PullRefused&& message, MonotonicTime now, WorkerOutputs& out);
  bool OnMessage(NodeId from, Moved&& message, MonotonicTime now, WorkerOutputs& out);
  bool OnMessage(NodeId from, RoundReply&& message, MonotonicTime now, WorkerOutputs& out);

  // --- members and connections

  void AdoptMembers(std::span<const NodeId> gone, WorkerOutputs& out);
  void Connected(NodeId peer, MonotonicTime now, WorkerOutputs& out);
  void Disconnected(NodeId peer, MonotonicTime now, WorkerOutputs& out);
  // A node is gone, with what it had in hand: whatever is open is issued again, to the homes of today.
  void Reissue(MonotonicTime now, WorkerOutputs& out);

  // --- time and ends

  void Postpone(Duration pause);
  // Pulls and pushes whose time is over.
  void EndOverdue(MonotonicTime now, WorkerOutputs& out);
  void SendAgain(MonotonicTime now, WorkerOutputs& out);
  MonotonicTime WakeAt() const {
    return std::min({pushes_.WakeAt(), pulls_.WakeAt(), own_.WakeAt(), replicas_.WakeAt()});
  }
  // The session is lost: pulls and pushes end with `status`.
  void EndAll(const Status& status, WorkerOutputs& out);

  // What a heartbeat says of rows.
  void DescribeIn(Heartbeat& heartbeat);
  // Since the last call.
  RowCounts TakeCounts();

  OwnRows& own() { return own_; }
  const OwnRows& own() const { return own_; }
  RowRoutes& routes() { return routes_; }
  const RowRoutes& routes() const { return routes_; }
  WorkerPushes& pushes() { return pushes_; }
  const WorkerPushes& pushes() const { return pushes_; }
  WorkerPulls& pulls() { return pulls_; }
  WorkerFetches& fetches() { return fetches_; }
  WorkerReplicas& replicas() { return replicas_; }
  const WorkerReplicas& replicas() const { return replicas_; }
  const AnnouncedRows& announced() const { return announced_; }

 private:
  // What of the call is for rows that have copies here; the rest stays in it.
  void PushToCopies(PushCall& call, const StepPoint& at);
  // Answers that have waited for the place of this request to be free.
  void TakeWaiting(RequestId request, MonotonicTime now, WorkerOutputs& out);

  const WorkerOptions& options_;
  ClusterView& cluster_;
  OwnRows own_;
  RowRoutes routes_;
  WorkerPushes pushes_;
  WorkerPulls pulls_;
  AnnouncedRows announced_;
  WorkerReplicas replicas_;
  WorkerFetches fetches_;
  UniqueKeys unique_;  // of Localize, and of pushes to copies
};

}  // namespace attune::ps
