// Pulls of a worker: what the program asks for, and what other nodes answer.
#include <algorithm>
#include <utility>

#include "ps/core/protocol/limits.h"
#include "ps/core/worker/worker_rows.h"

namespace attune::ps {

void WorkerRows::Pull(const PullCall& call, const StepPoint& at, MonotonicTime now, WorkerOutputs& out) {
  const auto refuse = [&](StatusCode code, const std::string& text) {
    out.completions.push_back({.call = call.call, .status = Error(code, "pull refused: " + text), .result = {}});
  };
  const auto table = tables_.find(call.table);
  if (table == tables_.end()) return refuse(StatusCode::kNotFound, "this table is not open; open it first");
  const uint32_t dim = table->second.options.dim;
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

  pulls_.Begin(call);
  WakeBy(call.deadline);
  if (prefetched_.empty()) {
    PullAll(call, dim, now, out);
  } else {
    PullSome(call, dim, TakeFetched(call, at, now), now, out);
  }
  pulls_.Added(call.call, out.completions);
}

void WorkerRows::PullAll(const PullCall& call, uint32_t dim, MonotonicTime now, WorkerOutputs& out) {
  const size_t chunk = KeysPerMessage(dim);
  routes_.Group(call.table, call.keys.view(), cluster_, hints_.owners(), own_.StoreOf(call.table));
  for (size_t route = 0; route < routes_.routes().size(); ++route) {
    const std::span<const uint32_t> places = routes_.PlacesOf(route);
    for (size_t at = 0; at < places.size(); at += chunk) {
      PullPart(call, dim, routes_.routes()[route], places.subspan(at, std::min(chunk, places.size() - at)), now, out);
    }
  }
}

void WorkerRows::PullSome(const PullCall& call, uint32_t dim, std::span<const uint32_t> of, MonotonicTime now,
                          WorkerOutputs& out) {
  const size_t chunk = KeysPerMessage(dim);
  std::vector<Key> keys;
  for (const uint32_t place : of) keys.push_back(call.keys[place]);
  routes_.Group(call.table, keys, cluster_, hints_.owners(), own_.StoreOf(call.table));
  std::vector<uint32_t> places;
  for (size_t route = 0; route < routes_.routes().size(); ++route) {
    places.clear();
    for (const uint32_t place : routes_.PlacesOf(route)) places.push_back(of[place]);
    for (size_t at = 0; at < places.size(); at += chunk) {
      const size_t count = std::min(chunk, places.size() - at);
      PullPart(call, dim, routes_.routes()[route], std::span(places).subspan(at, count), now, out);
    }
  }
}

void WorkerRows::On(CancelPull call, MonotonicTime, WorkerOutputs& out) {
  pulls_.End(call.call, Error(StatusCode::kCancelled, "pull: given up, as its last future was dropped"),
             out.completions);
}

void WorkerRows::PullPart(const PullCall& call, uint32_t dim, NodeId to, std::span<const uint32_t> places,
                          MonotonicTime now, WorkerOutputs& out) {
  PullCalls::Part part{.call = call.call, .to = to, .table = call.table, .dim = dim, .keys = {}, .places = places};
  part.keys = Slice<Key>::Filled(places.size(), [&](std::span<Key> keys) {
    for (size_t i = 0; i < places.size(); ++i) keys[i] = call.keys[places[i]];
  });
  if (!options_.mutations.pull_without_after) pushes_.FindOpenOf(call.table, part.keys.view(), part.after);
  if (const TableStore* const store = own_.StoreOf(call.table);
      to == cluster_.self() && store != nullptr && part.after.empty() && pulls_.TakeFrom(*store, part)) {
    accesses_.owned += places.size();
    return;
  }
  if (!PrefetchedRows::IsFetch(call.call)) accesses_.remote += places.size();
  WakeBy(pulls_.Add(std::move(part), PullSender(now), PullsTo(now, out)));
}

PullCalls::Sender WorkerRows::PullSender(MonotonicTime now) const {
  return {.cluster = cluster_, .acked_below = pushes_.AckedBelow(), .now = now};
}

void WorkerRows::Send(NodeId to, Message message, MonotonicTime now, WorkerOutputs& out) {
  if (to == cluster_.self()) return own_.Operate(std::move(message), now, out);
  out.send.push_back({.to = to, .message = std::move(message)});
}

bool WorkerRows::PullHere(TableId table, std::span<const Key> keys, std::span<float> rows, const StepPoint& at,
                          MonotonicTime now) {
  if (!prefetched_.empty()) return PullNear(table, keys, rows, at, now);
  const TableStore* const store = own_.StoreOf(table);
  if (store == nullptr || keys.size() > kKeysPerCallMax) return false;
  if (rows.size() != keys.size() * store->spec().options.dim) return false;
  if (!options_.mutations.pull_without_after && pushes_.AnyOpenOf(table, keys)) {
    return false;  // own pushes that are still on their way belong in the row first
  }
  if (!store->PullIfPresent(keys, rows)) return false;
  accesses_.owned += keys.size();
  return true;
}

std::span<float> WorkerRows::PlaceOf(NodeId from, RequestId request, size_t values) {
  return cluster_.map().Contains(from) ? pulls_.PlaceOf(from, request, values) : std::span<float>();
}

void WorkerRows::On(RowsRevoked input, MonotonicTime now, WorkerOutputs& out) {
  for (auto& [from, reply] : pulls_.Revoked(input.request)) OnMessage(from, std::move(reply), now, out);
}

bool WorkerRows::OnMessage(NodeId from, PullReply&& message, MonotonicTime, WorkerOutputs& out) {
  if (const auto answered = pulls_.Take(from, message, cluster_.map(), out)) {
    hints_.LearnFrom(message, from, answered->table, answered->keys.view(), cluster_);
    if (!PrefetchedRows::IsFetch(answered->call)) ReadOtherwise(answered->table, answered->keys.view());
  }
  return false;
}

bool WorkerRows::OnMessage(NodeId from, PullRefused&& message, MonotonicTime, WorkerOutputs& out) {
  pulls_.Refused(message.request, Annotate(message.status, "pull from " + Describe(cluster_.map(), from)),
                 out.completions);
  return false;
}

// The server's map is another one. The newer map, wherever it is missing, sets things right: here it is asked for; the
// message goes out again after the usual time.
bool WorkerRows::OnMessage(NodeId, Moved&& message, MonotonicTime now, WorkerOutputs& out) {
  if (message.map_version > cluster_.map().version) cluster_.AskForNewerMap(now, out.send);
  return false;
}

}  // namespace attune::ps
