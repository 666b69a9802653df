#include "ps/core/worker/worker_rows.h"

#include <algorithm>
#include <utility>

#include "ps/core/protocol/limits.h"

namespace attune::ps {

WorkerRows::WorkerRows(const WorkerOptions& options, ClusterView& cluster, const LivenessLease& lease)
    : options_(options),
      cluster_(cluster),
      own_(options, cluster, lease),
      pushes_({.in_flight_max = std::clamp(options.pushes_in_flight_max, 1U, kPushWindowMax),
               .resend_after = options.reissue_after,
               .resend_after_max = options.reissue_after_max,
               .acked_below_skips_open = options.mutations.acked_below_skips_open,
               .no_resend = options.mutations.no_reissue}),
      pulls_({.resend_after = options.reissue_after,
              .resend_after_max = options.reissue_after_max,
              .place_every_answer = options.mutations.place_every_answer,
              .ignore_deadline = options.mutations.ignore_pull_deadline}),
      hints_(options.locations_max),
      announced_(options.intents_max),
      prefetched_({.bytes_max = options.fetched_bytes_max,
                   .past_age = options.mutations.fetched_row_past_age,
                   .before_floor = options.mutations.fetched_row_before_floor}) {}

bool WorkerRows::Localize(const LocalizeCall& call, MonotonicTime now, WorkerOutputs& out) {
  const auto refuse = [&](StatusCode code, const std::string& text) {
    out.completions.push_back({.call = call.call, .status = Error(code, "localize refused: " + text), .result = {}});
    return false;
  };
  const auto table = tables_.find(call.table);
  if (table == tables_.end()) return refuse(StatusCode::kNotFound, "this table is not open; open it first");
  if (!options_.create_store) {
    return refuse(StatusCode::kFailedPrecondition, "this worker holds no rows; leave them where they are");
  }
  if (call.keys.size() > kKeysPerCallMax) {
    return refuse(StatusCode::kInvalidArgument, std::to_string(call.keys.size()) + " keys in one call, at most " +
                                                    std::to_string(kKeysPerCallMax) +
                                                    " are allowed; localize in pieces");
  }
  return own_.Localize(call, table->second, unique_.Of(call.keys.view()), now, out);
}

// --- members and connections

void WorkerRows::AdoptMembers(std::span<const NodeId> gone, WorkerOutputs& out) {
  for (const NodeId node : gone) hints_.Forget(node);
  own_.AdoptMembers(gone, out);
}

void WorkerRows::Connected(NodeId peer, MonotonicTime now, WorkerOutputs& out) {
  own_.Connected(peer, now, out);
  if (!options_.mutations.no_reissue) {
    pushes_.ForEachInFlight([&](const PushWindow::Push& push) { SendOpenKeys(push, peer, now, out); });
  }
  pulls_.SendTo(peer, PullSender(now), PullsTo(now, out));
}

void WorkerRows::Disconnected(NodeId peer, MonotonicTime now, WorkerOutputs& out) {
  own_.Disconnected(peer);
  // Nothing is received over the connection any more.
  for (const RequestId request : pulls_.PlacedBy(peer)) On(RowsRevoked{request}, now, out);
}

void WorkerRows::Reissue(MonotonicTime now, WorkerOutputs& out) {
  pushes_.ForEachInFlight([&](const PushWindow::Push& push) { SendOpenKeys(push, {}, now, out); });
  pulls_.SendAll(PullSender(now), PullsTo(now, out));
  own_.Relocalize(now, out);
  prefetched_.DropAll();  // rows may continue from copies or from a checkpoint
}

// --- time and ends

void WorkerRows::Postpone(Duration pause) {
  pushes_.Postpone(pause);
  pulls_.Postpone(pause);
  own_.Postpone(pause);
}

void WorkerRows::EndOverdue(MonotonicTime now, WorkerOutputs& out) {
  wake_at_ = pushes_.EndOverdue(now, out.completions);
  WakeBy(pulls_.EndOverdue(now, cluster_.map(), out.completions));
}

void WorkerRows::SendAgain(MonotonicTime now, WorkerOutputs& out) {
  WakeBy(pushes_.SendAgain(now, [&](const PushWindow::Push& push) { SendOpenKeys(push, {}, now, out); }));
  WakeBy(pulls_.SendAgain(PullSender(now), PullsTo(now, out)));
}

void WorkerRows::EndAll(const Status& status, WorkerOutputs& out) {
  pushes_.EndAll(status, out.completions);
  pulls_.EndAll(status, out.completions);
}

}  // namespace attune::ps
