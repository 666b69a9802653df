// A worker's pulls, as they go out and are answered: split by where the rows are, behind the worker's own pushes, taken
// at once where the rows are here, sent again when no answer comes or a node is gone (docs/protocol.md#one-pull). The
// calls and where their answers are written: operations/pull_calls.h. Fetches of announced rows (worker_fetches.h) are
// pulls like those of the program.
//
// Externally synchronized. What it is constructed with must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "base/wake_time.h"
#include "ps/core/intent/row_accesses.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/worker/operations/pull_calls.h"
#include "ps/core/worker/operations/push_window.h"
#include "ps/core/worker/rows/own_rows.h"
#include "ps/core/worker/rows/row_routes.h"
#include "ps/core/worker/worker_io.h"

namespace attune::ps {

class WorkerPulls {
 public:
  // `pushes`: of this worker, which a pull of the same keys comes behind.
  WorkerPulls(const WorkerOptions& options, const ClusterView& cluster, const OwnRows& own, RowRoutes& routes,
              PushWindow& pushes);

  // --- calls

  // Why a call of the program is refused; OK: it may begin.
  Status Check(const PullCall& call) const;
  // There may be so many messages more.
  bool HasRoomFor(size_t keys, uint32_t dim) const;
  // A call that has keys. It ends once AskAll or AskSome has been called and every row is there. `in_place`: answers
  // may be received straight into its rows.
  void Begin(const PullCall& call, bool in_place = true);
  void AskAll(const PullCall& call, MonotonicTime now, WorkerOutputs& out);
  // The rows at these places of the call; the others have been written or are held.
  void AskSome(const PullCall& call, std::span<const uint32_t> places, MonotonicTime now, WorkerOutputs& out);
  // A row of the call comes from elsewhere: by Fill, or by AskInstead when it does not come.
  void Hold(CallId call) { calls_.Hold(call); }
  void Fill(CallId call, uint32_t place, std::span<const float> row, WorkerOutputs& out) {
    calls_.Fill(call, place, row, out.completions);
  }
  // Asks for held rows, by place in the call, with the time that the call has left. Nothing when it has ended.
  void AskInstead(CallId call, TableId table, uint32_t dim, const std::map<uint32_t, Key>& rows, MonotonicTime now,
                  WorkerOutputs& out);
  // The program does not wait for it any more.
  void Cancel(CallId call, WorkerOutputs& out);
  // At once, when all rows are here and no push of the worker's own belongs in them first. False: nothing has happened.
  bool PullHere(TableId table, std::span<const Key> keys, std::span<float> rows);

  // --- answers; see PullCalls

  std::optional<PullCalls::Answered> Take(NodeId from, PullReply& message, WorkerOutputs& out);
  void Refused(NodeId from, const PullRefused& message, WorkerOutputs& out);
  std::span<float> PlaceOf(NodeId from, RequestId request, size_t values);
  // An answer that waits for a newer map keeps nothing of the program's memory meanwhile.
  void TakeOutOfPlace(NodeId from, PullReply& message) { calls_.TakeOutOfPlace(from, message); }
  std::vector<PullCalls::Answer> Revoked(RequestId request) { return calls_.Revoked(request); }
  std::vector<RequestId> PlacedBy(NodeId peer) const { return calls_.PlacedBy(peer); }

  // --- connections, time and ends

  // What waits for a connection to this node is sent.
  void Connected(NodeId peer, MonotonicTime now, WorkerOutputs& out);
  // All that is open is sent to the homes of today.
  void Reissue(MonotonicTime now, WorkerOutputs& out);
  void Postpone(Duration pause) { calls_.Postpone(pause); }
  // Ends the calls whose time is over.
  void EndOverdue(MonotonicTime now, WorkerOutputs& out);
  void SendAgain(MonotonicTime now, WorkerOutputs& out);
  void EndAll(const Status& status, WorkerOutputs& out) { calls_.EndAll(status, out.completions); }
  MonotonicTime WakeAt() const { return wake_.at(); }

  // Rows that were here, and those that were asked for when they were needed, since the last call.
  RowAccesses TakeAccesses() { return std::exchange(accesses_, {}); }

 private:
  void AskPart(const PullCall& call, uint32_t dim, NodeId to, std::span<const uint32_t> places, MonotonicTime now,
               WorkerOutputs& out);
  PullCalls::Sender SenderAt(MonotonicTime now) const;
  // What PullCalls sends with.
  auto To(MonotonicTime now, WorkerOutputs& out) {
    return [this, now, &out](NodeId to, Pull pull) { routes_.Send(to, std::move(pull), now, out); };
  }

  const WorkerOptions& options_;
  const ClusterView& cluster_;
  const OwnRows& own_;
  RowRoutes& routes_;
  PushWindow& pushes_;
  PullCalls calls_;
  RowAccesses accesses_;
  WakeTime wake_;  // earliest deadline or re-issue
};

}  // namespace attune::ps
