// Pulls of a worker: what the program asks for, and what other nodes answer.
#include <algorithm>
#include <utility>

#include "ps/core/protocol/limits.h"
#include "ps/core/worker/worker_core.h"

namespace attune::ps {
void WorkerCore::On(PullCall call, MonotonicTime now, WorkerOutputs& out) {
  if (Refuse(call.call, out)) return;
  const auto refuse = [&](StatusCode code, const std::string& text) {
    out.completions.push_back({.call = call.call, .status = Error(code, "pull refused: " + text), .result = {}});
  };
  const auto dim_entry = dims_.find(call.table);
  if (dim_entry == dims_.end()) return refuse(StatusCode::kNotFound, "this table is not open; open it first");
  const uint32_t dim = dim_entry->second;
  if (call.keys.size() > kKeysPerCallMax) {
    return refuse(StatusCode::kInvalidArgument, std::to_string(call.keys.size()) + " keys in one call, at most " +
                                                    std::to_string(kKeysPerCallMax) + " are allowed; pull in pieces");
  }
  if (call.rows.size() != call.keys.size() * dim) {
    return refuse(StatusCode::kInvalidArgument, "room for " + std::to_string(call.rows.size()) + " values given, " +
                                                    std::to_string(call.keys.size()) + " keys of dim " +
                                                    std::to_string(dim) + " need keys * dim");
  }
  const size_t chunk = KeysPerMessage(dim);
  if (pulls_.in_flight() + call.keys.size() / chunk + cluster_.servers().size() > kPullsInFlightMax) {
    return refuse(StatusCode::kResourceExhausted,
                  std::to_string(pulls_.in_flight()) + " pulls of this worker are in flight; wait for some to end");
  }
  if (call.keys.empty()) {
    out.completions.push_back({.call = call.call, .status = OkStatus(), .result = {}});
    return;
  }

  routes_.Group(call.table, call.keys.view(), cluster_, locations_, StoreOf(call.table));
  pulls_.Begin(call);
  WakeBy(call.deadline);
  for (size_t route = 0; route < routes_.routes().size(); ++route) {
    const std::span<const uint32_t> places = routes_.PlacesOf(route);
    for (size_t at = 0; at < places.size(); at += chunk) {
      PullPart(call, routes_.routes()[route], places.subspan(at, std::min(chunk, places.size() - at)), now, out);
    }
  }
  pulls_.Added(call.call, out.completions);
}

void WorkerCore::On(CancelPull call, MonotonicTime, WorkerOutputs& out) {
  pulls_.End(call.call, Error(StatusCode::kCancelled, "pull: given up, as its last future was dropped"),
             out.completions);
}

void WorkerCore::PullPart(const PullCall& call, NodeId to, std::span<const uint32_t> places, MonotonicTime now,
                          WorkerOutputs& out) {
  PullCalls::Part part{
      .call = call.call, .to = to, .table = call.table, .dim = dims_.at(call.table), .keys = {}, .places = places};
  part.keys = Slice<Key>::Filled(places.size(), [&](std::span<Key> keys) {
    for (size_t i = 0; i < places.size(); ++i) keys[i] = call.keys[places[i]];
  });
  if (!options_.mutations.pull_without_after) pushes_.FindOpenOf(call.table, part.keys.view(), part.after);
  if (const TableStore* const store = StoreOf(call.table);
      to == cluster_.self() && store != nullptr && part.after.empty() && pulls_.TakeFrom(*store, part)) {
    return;
  }
  WakeBy(
      pulls_.Add(std::move(part), PullSender(now), [&](NodeId to, Pull message) { SendPull(to, message, now, out); }));
}

PullCalls::Sender WorkerCore::PullSender(MonotonicTime now) const {
  return {.cluster = cluster_, .acked_below = pushes_.AckedBelow(), .now = now};
}

void WorkerCore::SendPull(NodeId to, Pull& message, MonotonicTime now, WorkerOutputs& out) {
  if (to == cluster_.self()) return ToRows(std::move(message), now, out);
  out.send.push_back({.to = to, .message = std::move(message)});
}

std::span<float> WorkerCore::PlaceOf(NodeId from, RequestId request, size_t values) {
  return cluster_.map().Contains(from) ? pulls_.PlaceOf(from, request, values) : std::span<float>();
}

void WorkerCore::On(RowsRevoked input, MonotonicTime now, WorkerOutputs& out) {
  for (auto& [from, reply] : pulls_.Revoked(input.request)) OnMessage(from, std::move(reply), now, out);
}

void WorkerCore::OnMessage(NodeId from, PullReply&& message, MonotonicTime, WorkerOutputs& out) {
  const auto answered = pulls_.Take(from, message, cluster_.map(), out);
  if (!answered) return;
  const std::span<const Key> keys = answered->keys.view();
  const bool whole = message.positions.size() == keys.size();
  if (whole) seen_.Note(answered->table, keys, message.versions.view());
  if (whole && message.positions.list.empty()) {
    Learn(answered->table, keys, from);
  } else {
    for (size_t i = 0; i < message.positions.size(); ++i) {
      Learn(answered->table, keys.subspan(message.positions.At(i), 1), from);
    }
  }
}

void WorkerCore::OnMessage(NodeId from, PullRefused&& message, MonotonicTime, WorkerOutputs& out) {
  pulls_.Refused(message.request, Annotate(message.status, "pull from " + Describe(cluster_.map(), from)),
                 out.completions);
}

// The server's map is another one. The newer map, wherever it is missing, sets things right: here it is asked for; the
// message goes out again after the usual time.
void WorkerCore::OnMessage(NodeId, Moved&& message, MonotonicTime now, WorkerOutputs& out) {
  if (message.map_version > cluster_.map().version) AskForMap(now, out);
}

}  // namespace attune::ps
