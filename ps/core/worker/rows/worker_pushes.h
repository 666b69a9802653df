// A worker's pushes, from the program's call until every key is settled: summed, sent in parts, sent again when no
// answer comes or a node is gone, and applied at once where the rows are here (docs/protocol.md#one-push). Their
// numbers and which of them are open: operations/push_window.h.
//
// Externally synchronized. What it is constructed with must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/status.h"
#include "base/time_source.h"
#include "base/wake_time.h"
#include "ps/core/keys/unique_keys.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/worker/operations/push_window.h"
#include "ps/core/worker/rows/own_rows.h"
#include "ps/core/worker/rows/row_routes.h"
#include "ps/core/worker/worker_io.h"

namespace attune::ps {

class WorkerPushes {
 public:
  WorkerPushes(const WorkerOptions& options, const ClusterView& cluster, OwnRows& own, RowRoutes& routes);

  // --- calls

  // Why a call is refused; OK: it may be pushed.
  Status Check(const PushCall& call) const;
  // Such a call, which has keys. `step`: in which its gradients count as computed.
  void Push(PushCall call, uint64_t step, MonotonicTime now, WorkerOutputs& out);
  // At once, when all rows are here and no other process has to hear of it. nullopt: it is to go the usual way, and
  // nothing has happened.
  std::optional<Status> PushHere(TableId table, std::span<const Key> keys, std::span<const float> gradients,
                                 uint64_t step);

  // --- what was pushed to copies of rows

  struct Folds {
    Slice<Key> keys;  // unique
    std::vector<FoldCounts> counts;
    Slice<float> changes;
  };
  // The keys of a push that was reserved (PushWindow::Reserve), as folds, behind all that went to their home in the
  // order of the link.
  void PushFolds(SequenceNumber reserved, NodeId home, Folds folds, MonotonicTime now, WorkerOutputs& out);

  // --- answers. True: pushes are settled that were not; SendWaiting is due once what waited for that has been done.

  bool Acknowledged(const PushAck& message, MonotonicTime now, WorkerOutputs& out);
  bool Refused(NodeId from, const PushRefused& message, MonotonicTime now, WorkerOutputs& out);
  // Those that there is room for now.
  void SendWaiting(MonotonicTime now, WorkerOutputs& out);

  // --- connections, time and ends

  // What is open of this node's keys is sent to it.
  void Connected(NodeId peer, MonotonicTime now, WorkerOutputs& out);
  // All that is open is sent to the homes of today.
  void Reissue(MonotonicTime now, WorkerOutputs& out);
  void Postpone(Duration pause) { window_.Postpone(pause); }
  // Ends the calls whose time is over; their pushes stay.
  void EndOverdue(MonotonicTime now, WorkerOutputs& out) { wake_.Reset(window_.EndOverdue(now, out.completions)); }
  void SendAgain(MonotonicTime now, WorkerOutputs& out);
  void EndAll(const Status& status, WorkerOutputs& out) { window_.EndAll(status, out.completions); }
  MonotonicTime WakeAt() const { return wake_.at(); }

  // What is open. Who looks for the pushes of a key makes its index.
  const PushWindow& window() const { return window_; }
  PushWindow& window() { return window_; }

 private:
  void SendWhole(const PushWindow::Push& push, MonotonicTime now, WorkerOutputs& out);
  void SendOpenKeys(const PushWindow::Push& push, std::optional<NodeId> only, MonotonicTime now, WorkerOutputs& out);
  void SendPart(const PushWindow::Push& push, PushPart part, MonotonicTime now, WorkerOutputs& out,
                bool ordered = false);
  bool ApplyHere(const PushWindow::Push& push, const PushPart& part);
  bool Settle(SequenceNumber sequence, const Positions& positions, const Status& status, MonotonicTime now,
              WorkerOutputs& out);

  const WorkerOptions& options_;
  const ClusterView& cluster_;
  OwnRows& own_;
  RowRoutes& routes_;
  UniqueKeys unique_;
  PushWindow window_;
  WakeTime wake_;  // earliest deadline or re-issue
};

}  // namespace attune::ps
