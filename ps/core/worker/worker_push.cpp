// Pushes of a worker: from the call until every key is settled.
#include <algorithm>
#include <tuple>
#include <utility>

#include "ps/core/protocol/limits.h"
#include "ps/core/worker/worker_core.h"

namespace attune::ps {
size_t WorkerCore::KeysPerMessage(uint32_t dim) const {
  return std::max<size_t>(1, std::min({options_.keys_per_message_max, kKeysPerMessageMax, kFloatsPerMessageMax / dim}));
}

void WorkerCore::On(PushCall call, MonotonicTime now, WorkerOutputs& out) {
  if (Refuse(call.call, out)) return;
  const auto refuse = [&](StatusCode code, const std::string& text) {
    out.completions.push_back({.call = call.call, .status = Error(code, "push refused: " + text), .result = {}});
  };
  const auto dim_entry = dims_.find(call.table);
  if (dim_entry == dims_.end()) return refuse(StatusCode::kNotFound, "this table is not open; open it first");
  const uint32_t dim = dim_entry->second;
  if (call.keys.size() > kKeysPerCallMax) {
    return refuse(StatusCode::kInvalidArgument, std::to_string(call.keys.size()) + " keys in one call, at most " +
                                                    std::to_string(kKeysPerCallMax) + " are allowed; push in pieces");
  }
  if (call.gradients.size() != call.keys.size() * dim) {
    return refuse(StatusCode::kInvalidArgument, std::to_string(call.gradients.size()) + " gradient values for " +
                                                    std::to_string(call.keys.size()) + " keys of dim " +
                                                    std::to_string(dim) + "; pass keys * dim values");
  }
  if (pushes_.size() >= kPushWindowMax * size_t{4}) {
    return refuse(StatusCode::kResourceExhausted,
                  std::to_string(pushes_.size()) + " pushes of this worker are open; wait for some to be acknowledged");
  }
  if (call.keys.empty()) {
    out.completions.push_back({.call = call.call, .status = OkStatus(), .result = {}});
    return;
  }

  UniqueKeys::Gradients gradients =
      unique_.Sum({.keys = std::move(call.keys), .values = std::move(call.gradients)}, dim);
  routes_.Group(call.table, gradients.keys.view(), cluster_, locations_, StoreOf(call.table));
  pushes_.Add({.call = call.call,
               .deadline = call.deadline,
               .table = call.table,
               .step = gate_.clock(),
               .gradients = {std::move(gradients), dim, routes_, cluster_.homes_version()}});
  WakeBy(call.deadline);
  SendWaitingPushes(now, out);
}

void WorkerCore::SendWaitingPushes(MonotonicTime now, WorkerOutputs& out) {
  while (const PushWindow::Push* const push = pushes_.TakeNextToSend(now)) {
    WakeBy(push->send_again());
    SendWhole(*push, now, out);
  }
}

void WorkerCore::SendWhole(const PushWindow::Push& push, MonotonicTime now, WorkerOutputs& out) {
  const GroupedGradients& gradients = push.gradients();
  if (gradients.homes_version() != cluster_.homes_version()) return SendOpenKeys(push, {}, now, out);
  gradients.ForEachPart(KeysPerMessage(gradients.dim()), [&](PushPart part) {
    if (part.to == cluster_.self() && ApplyHere(push, part)) return;
    SendPart(push, std::move(part), now, out);
  });
}

// Re-issue: what is still open, routed by the map of today, in whatever pieces that makes.
void WorkerCore::SendOpenKeys(const PushWindow::Push& push, std::optional<NodeId> only, MonotonicTime now,
                              WorkerOutputs& out) {
  const GroupedGradients& gradients = push.gradients();
  gradients.ForEachPartByHome(
      cluster_, only, KeysPerMessage(gradients.dim()), [&](uint32_t position) { return push.IsOpen(position); },
      [&](PushPart part) { SendPart(push, std::move(part), now, out); });
}

void WorkerCore::SendPart(const PushWindow::Push& push, PushPart part, MonotonicTime now, WorkerOutputs& out) {
  NodeId to = part.to;
  // An owner that cannot be reached: any server knows the way. A server: sent when the connection is there.
  if (to != cluster_.self() && !cluster_.IsConnected(to) && !cluster_.IsServer(to)) {
    to = cluster_.map().HomeOf(part.keys[0]);
  }
  if (to != cluster_.self() && !cluster_.IsConnected(to)) return;
  Push message{.origin = cluster_.self(),
               .sequence = push.sequence(),
               .table = push.table(),
               .map_version = cluster_.map().version,
               .acked_below = pushes_.AckedBelow(),
               .positions = std::move(part.positions),
               .keys = std::move(part.keys),
               .gradients = std::move(part.gradients),
               .step = push.step()};
  std::tie(message.seen_index, message.seen) = seen_.Take(push.table(), message.keys.view());
  if (to == cluster_.self()) return ToRows(std::move(message), now, out);
  out.send.push_back({.to = to, .message = std::move(message)});
}

void WorkerCore::OnMessage(NodeId, PushAck&& message, MonotonicTime now, WorkerOutputs& out) {
  const PushWindow::Push* const push = pushes_.Find(message.sequence);
  if (push != nullptr && message.staleness != kNotMeasured) staleness_.Add(message.staleness);
  if (push != nullptr && message.owner != NodeId() && message.owner != cluster_.self()) {
    const std::span<const Key> keys = push->gradients().keys().view();
    for (size_t i = 0; i < message.positions.size(); ++i) {
      const uint32_t position = message.positions.At(i);
      if (position < keys.size()) Learn(push->table(), keys.subspan(position, 1), message.owner);
    }
  }
  Settle(message.sequence, message.positions, OkStatus(), now, out);
}

void WorkerCore::OnMessage(NodeId from, PushRefused&& message, MonotonicTime now, WorkerOutputs& out) {
  Settle(message.sequence, message.positions, Annotate(message.status, "push to " + Describe(cluster_.map(), from)),
         now, out);
}

void WorkerCore::Settle(SequenceNumber sequence, const Positions& positions, const Status& status, MonotonicTime now,
                        WorkerOutputs& out) {
  if (!pushes_.Settle(sequence, positions, status, out.completions)) return;
  AfterPushesSettled(now, out);
  SendWaitingPushes(now, out);
}

// acked_below has risen: what waited for it.
void WorkerCore::AfterPushesSettled(MonotonicTime now, WorkerOutputs& out) {
  const SequenceNumber settled = pushes_.SettledBelow();
  if (takes_rows_) {
    RowOutputs rows;
    rows_.LearnSettled(cluster_.self(), pushes_.AckedBelow(), rows);
    Forward(rows, now, out);
  }
  std::erase_if(flushes_, [&](const Flush& flush) {
    if (flush.after > settled) return false;
    EndCall(flush.call, OkStatus(), {}, out);
    return true;
  });
  std::vector<LeaseId> with_marks;
  for (auto& [id, lease] : leases_) {
    if (lease.progress.CanSettle(settled)) with_marks.push_back(id);
  }
  std::ranges::sort(with_marks);  // the table's order is not the same everywhere
  for (const LeaseId id : with_marks) ReportLease(id, leases_.at(id), now, out);
  SettleSteps(now, out);  // after the leases: one heartbeat says both
  LeaveWhenSettled(now, out);
}

}  // namespace attune::ps
