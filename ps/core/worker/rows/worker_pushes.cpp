#include "ps/core/worker/rows/worker_pushes.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "ps/core/protocol/limits.h"

namespace attune::ps {

WorkerPushes::WorkerPushes(const WorkerOptions& options, const ClusterView& cluster, OwnRows& own, RowRoutes& routes)
    : options_(options),
      cluster_(cluster),
      own_(own),
      routes_(routes),
      window_({.in_flight_max = std::clamp(options.pushes_in_flight_max, 1U, kPushWindowMax),
               .resend_after = options.reissue_after,
               .resend_after_max = options.reissue_after_max,
               .acked_below_skips_open = options.mutations.acked_below_skips_open,
               .no_resend = options.mutations.no_reissue}) {}

// --- calls

Status WorkerPushes::Check(const PushCall& call) const {
  const auto refuse = [](StatusCode code, const std::string& text) { return Error(code, "push refused: " + text); };
  const TableSpec* const table = routes_.Find(call.table);
  if (table == nullptr) return refuse(StatusCode::kNotFound, "this table is not open; open it first");
  const uint32_t dim = table->options.dim;
  if (call.keys.size() > kKeysPerCallMax) {
    return refuse(StatusCode::kInvalidArgument, std::to_string(call.keys.size()) + " keys in one call, at most " +
                                                    std::to_string(kKeysPerCallMax) + " are allowed; push in pieces");
  }
  if (call.gradients.size() != call.keys.size() * dim) {
    return refuse(StatusCode::kInvalidArgument, std::to_string(call.gradients.size()) + " gradient values for " +
                                                    std::to_string(call.keys.size()) + " keys of dim " +
                                                    std::to_string(dim) + "; pass keys * dim values");
  }
  if (window_.size() >= kPushWindowMax * size_t{4}) {
    return refuse(StatusCode::kResourceExhausted,
                  std::to_string(window_.size()) + " pushes of this worker are open; wait for some to be acknowledged");
  }
  return OkStatus();
}

void WorkerPushes::Push(PushCall call, uint64_t step, MonotonicTime now, WorkerOutputs& out) {
  const auto dim = static_cast<uint32_t>(call.gradients.size() / call.keys.size());
  UniqueKeys::Gradients gradients =
      unique_.Sum({.keys = std::move(call.keys), .values = std::move(call.gradients)}, dim);
  const RouteGroups& groups = routes_.Group(call.table, gradients.keys.view());
  window_.Add({.call = call.call,
               .deadline = call.deadline,
               .table = call.table,
               .step = step,
               .gradients = {std::move(gradients), dim, groups, cluster_.homes_version()}});
  wake_.By(call.deadline);
  SendWaiting(now, out);
}

// No other process knows of such a push and no process will send it again, so it needs neither number nor record.
std::optional<Status> WorkerPushes::PushHere(TableId table, std::span<const Key> keys, std::span<const float> gradients,
                                             uint64_t step) {
  TableStore* const store = own_.UnguardedStoreOf(table);
  if (store == nullptr || keys.size() > kKeysPerCallMax) return std::nullopt;
  if (gradients.size() != keys.size() * store->spec().options.dim) return std::nullopt;
  if (!unique_.AreUnique(keys)) return std::nullopt;  // to be summed first
  const auto pushed = store->PushIfPresent(keys, gradients, {.step = step});
  if (!pushed) return std::nullopt;
  return pushed->ok() ? OkStatus() : Annotate(pushed->status(), "push to this worker");
}

// --- folds

void WorkerPushes::PushFolds(SequenceNumber reserved, NodeId home, Folds folds, MonotonicTime now, WorkerOutputs& out) {
  const size_t floats = folds.changes.size() / folds.keys.size();
  const PushWindow::Push& push = window_.Fill(
      reserved,
      {std::move(folds.keys), std::move(folds.changes), static_cast<uint32_t>(floats), home, cluster_.homes_version()},
      std::move(folds.counts), now);
  wake_.By(push.send_again());
  if (!cluster_.IsServer(home)) return SendOpenKeys(push, {}, now, out);
  push.gradients().ForEachPart(routes_.KeysPerMessage(push.gradients().dim()),
                               [&](PushPart part) { SendPart(push, std::move(part), now, out, /*ordered=*/true); });
}

// --- messages

void WorkerPushes::SendWaiting(MonotonicTime now, WorkerOutputs& out) {
  while (const PushWindow::Push* const push = window_.TakeNextToSend(now)) {
    wake_.By(push->send_again());
    SendWhole(*push, now, out);
  }
}

void WorkerPushes::SendWhole(const PushWindow::Push& push, MonotonicTime now, WorkerOutputs& out) {
  const GroupedGradients& gradients = push.gradients();
  if (gradients.homes_version() != cluster_.homes_version()) return SendOpenKeys(push, {}, now, out);
  gradients.ForEachPart(routes_.KeysPerMessage(gradients.dim()), [&](PushPart part) {
    if (part.to == cluster_.self() && ApplyHere(push, part)) return;
    SendPart(push, std::move(part), now, out);
  });
}

// Re-issue: what is still open, routed by the map of today, in whatever pieces that makes.
void WorkerPushes::SendOpenKeys(const PushWindow::Push& push, std::optional<NodeId> only, MonotonicTime now,
                                WorkerOutputs& out) {
  const GroupedGradients& gradients = push.gradients();
  gradients.ForEachPartByHome(
      cluster_, only, routes_.KeysPerMessage(gradients.dim()), [&](uint32_t position) { return push.IsOpen(position); },
      [&](PushPart part) { SendPart(push, std::move(part), now, out); });
}

void WorkerPushes::SendPart(const PushWindow::Push& push, PushPart part, MonotonicTime now, WorkerOutputs& out,
                            bool ordered) {
  NodeId to = part.to;
  // An owner that cannot be reached: any server knows the way. A server: sent when the connection is there.
  if (to != cluster_.self() && !cluster_.IsConnected(to) && !cluster_.IsServer(to)) {
    to = cluster_.map().HomeOf(part.keys[0]);
  }
  if (to != cluster_.self() && !cluster_.IsConnected(to) && !ordered) return;
  ps::Push message{.origin = cluster_.self(),
                   .sequence = push.sequence(),
                   .table = push.table(),
                   .map_version = cluster_.map().version,
                   .acked_below = window_.AckedBelow(),
                   .positions = std::move(part.positions),
                   .keys = std::move(part.keys),
                   .gradients = std::move(part.gradients),
                   .step = push.step()};
  for (size_t i = 0; i < message.keys.size() && !push.folds().empty(); ++i) {
    message.folds.push_back(push.folds()[message.positions.At(i)]);
  }
  if (ordered) return own_.SendInOrder(to, std::move(message), now, out);
  std::tie(message.seen_index, message.seen) = routes_.hints().TakeSeen(push.table(), message.keys.view());
  routes_.Send(to, std::move(message), now, out);
}

// Rows of a push that goes out for the first time: see PushHere. False: the usual way.
bool WorkerPushes::ApplyHere(const PushWindow::Push& push, const PushPart& part) {
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

bool WorkerPushes::Acknowledged(const PushAck& message, MonotonicTime now, WorkerOutputs& out) {
  if (const PushWindow::Push* const push = window_.Find(message.sequence)) {
    routes_.hints().LearnFrom(message, push->table(), push->gradients().keys().view(), cluster_);
  }
  return Settle(message.sequence, message.positions, OkStatus(), now, out);
}

bool WorkerPushes::Refused(NodeId from, const PushRefused& message, MonotonicTime now, WorkerOutputs& out) {
  if (const PushWindow::Push* const push = window_.Find(message.sequence); push != nullptr && !push->folds().empty()) {
    // For the program these pushes are done.
    own_.Lose(Annotate(message.status, "pushes to copies of rows, at " + Describe(cluster_.map(), from)));
  }
  return Settle(message.sequence, message.positions,
                Annotate(message.status, "push to " + Describe(cluster_.map(), from)), now, out);
}

bool WorkerPushes::Settle(SequenceNumber sequence, const Positions& positions, const Status& status, MonotonicTime now,
                          WorkerOutputs& out) {
  if (!window_.Settle(sequence, positions, status, out.completions)) return false;
  own_.LearnSettled(window_.AckedBelow(), now, out);
  return true;
}

// --- connections, time

void WorkerPushes::Connected(NodeId peer, MonotonicTime now, WorkerOutputs& out) {
  if (options_.mutations.no_reissue) return;
  window_.ForEachInFlight([&](const PushWindow::Push& push) { SendOpenKeys(push, peer, now, out); });
}

void WorkerPushes::Reissue(MonotonicTime now, WorkerOutputs& out) {
  window_.ForEachInFlight([&](const PushWindow::Push& push) { SendOpenKeys(push, {}, now, out); });
}

void WorkerPushes::SendAgain(MonotonicTime now, WorkerOutputs& out) {
  wake_.By(window_.SendAgain(now, [&](const PushWindow::Push& push) { SendOpenKeys(push, {}, now, out); }));
}

}  // namespace attune::ps
