// Pushes of a worker: from the call until every key is settled.
#include <algorithm>
#include <tuple>
#include <utility>

#include "ps/core/protocol/limits.h"
#include "ps/core/worker/worker_rows.h"

namespace attune::ps {

size_t WorkerRows::KeysPerMessage(uint32_t dim) const {
  return std::max<size_t>(1, std::min({options_.keys_per_message_max, kKeysPerMessageMax, kFloatsPerMessageMax / dim}));
}

void WorkerRows::Push(PushCall call, const StepPoint& at, MonotonicTime now, WorkerOutputs& out) {
  const auto refuse = [&](StatusCode code, const std::string& text) {
    out.completions.push_back({.call = call.call, .status = Error(code, "push refused: " + text), .result = {}});
  };
  const auto table = tables_.find(call.table);
  if (table == tables_.end()) return refuse(StatusCode::kNotFound, "this table is not open; open it first");
  const uint32_t dim = table->second.options.dim;
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
  routes_.Group(call.table, gradients.keys.view(), cluster_, hints_.owners(), own_.StoreOf(call.table));
  PushedTo(call.table, gradients.keys.view(), at);
  pushes_.Add({.call = call.call,
               .deadline = call.deadline,
               .table = call.table,
               .step = at.step,
               .gradients = {std::move(gradients), dim, routes_, cluster_.homes_version()}});
  WakeBy(call.deadline);
  SendWaitingPushes(now, out);
}

void WorkerRows::SendWaitingPushes(MonotonicTime now, WorkerOutputs& out) {
  while (const PushWindow::Push* const push = pushes_.TakeNextToSend(now)) {
    WakeBy(push->send_again());
    SendWhole(*push, now, out);
  }
}

void WorkerRows::SendWhole(const PushWindow::Push& push, MonotonicTime now, WorkerOutputs& out) {
  const GroupedGradients& gradients = push.gradients();
  if (gradients.homes_version() != cluster_.homes_version()) return SendOpenKeys(push, {}, now, out);
  gradients.ForEachPart(KeysPerMessage(gradients.dim()), [&](PushPart part) {
    if (part.to == cluster_.self() && ApplyHere(push, part)) return;
    SendPart(push, std::move(part), now, out);
  });
}

// Re-issue: what is still open, routed by the map of today, in whatever pieces that makes.
void WorkerRows::SendOpenKeys(const PushWindow::Push& push, std::optional<NodeId> only, MonotonicTime now,
                              WorkerOutputs& out) {
  const GroupedGradients& gradients = push.gradients();
  gradients.ForEachPartByHome(
      cluster_, only, KeysPerMessage(gradients.dim()), [&](uint32_t position) { return push.IsOpen(position); },
      [&](PushPart part) { SendPart(push, std::move(part), now, out); });
}

void WorkerRows::SendPart(const PushWindow::Push& push, PushPart part, MonotonicTime now, WorkerOutputs& out) {
  NodeId to = part.to;
  // An owner that cannot be reached: any server knows the way. A server: sent when the connection is there.
  if (to != cluster_.self() && !cluster_.IsConnected(to) && !cluster_.IsServer(to)) {
    to = cluster_.map().HomeOf(part.keys[0]);
  }
  if (to != cluster_.self() && !cluster_.IsConnected(to)) return;
  ps::Push message{.origin = cluster_.self(),
                   .sequence = push.sequence(),
                   .table = push.table(),
                   .map_version = cluster_.map().version,
                   .acked_below = pushes_.AckedBelow(),
                   .positions = std::move(part.positions),
                   .keys = std::move(part.keys),
                   .gradients = std::move(part.gradients),
                   .step = push.step()};
  std::tie(message.seen_index, message.seen) = hints_.TakeSeen(push.table(), message.keys.view());
  Send(to, std::move(message), now, out);
}

bool WorkerRows::OnMessage(NodeId, PushAck&& message, MonotonicTime now, WorkerOutputs& out) {
  if (const PushWindow::Push* const push = pushes_.Find(message.sequence)) {
    hints_.LearnFrom(message, push->table(), push->gradients().keys().view(), cluster_);
  }
  return Settle(message.sequence, message.positions, OkStatus(), now, out);
}

bool WorkerRows::OnMessage(NodeId from, PushRefused&& message, MonotonicTime now, WorkerOutputs& out) {
  return Settle(message.sequence, message.positions,
                Annotate(message.status, "push to " + Describe(cluster_.map(), from)), now, out);
}

bool WorkerRows::Settle(SequenceNumber sequence, const Positions& positions, const Status& status, MonotonicTime now,
                        WorkerOutputs& out) {
  if (!pushes_.Settle(sequence, positions, status, out.completions)) return false;
  own_.LearnSettled(pushes_.AckedBelow(), now, out);
  return true;
}

// No other process knows of such a push and no process will send it again, so it needs neither number nor record.
std::optional<Status> WorkerRows::PushHere(TableId table, std::span<const Key> keys, std::span<const float> gradients,
                                           uint64_t step) {
  TableStore* const store = own_.UnguardedStoreOf(table);
  if (store == nullptr || keys.size() > kKeysPerCallMax) return std::nullopt;
  if (gradients.size() != keys.size() * store->spec().options.dim) return std::nullopt;
  if (!unique_.AreUnique(keys)) return std::nullopt;  // to be summed first
  const auto pushed = store->PushIfPresent(keys, gradients, {.step = step});
  if (!pushed) return std::nullopt;
  ReadOtherwise(table, keys);
  return pushed->ok() ? OkStatus() : Annotate(pushed->status(), "push to this worker");
}

// Rows of a push that goes out for the first time: see PushHere. False: the usual way.
bool WorkerRows::ApplyHere(const PushWindow::Push& push, const PushPart& part) {
  TableStore* const store = own_.UnguardedStoreOf(push.table());
  if (store == nullptr) return false;
  const auto pushed = store->PushIfPresent(part.keys.view(), part.gradients.view(), {.step = push.step()});
  if (!pushed) return false;
  const MapVersion version = cluster_.map().version;
  if (pushed->ok()) {
    own_.AnswerSelf(PushAck{
        .sequence = push.sequence(), .map_version = version, .positions = part.positions, .owner = cluster_.self()});
  } else {
    own_.AnswerSelf(PushRefused{
        .sequence = push.sequence(), .map_version = version, .positions = part.positions, .status = pushed->status()});
  }
  return true;
}

}  // namespace attune::ps
