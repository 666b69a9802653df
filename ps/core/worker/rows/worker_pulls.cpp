#include "ps/core/worker/rows/worker_pulls.h"

#include <algorithm>
#include <string>

#include "ps/core/protocol/limits.h"
#include "ps/core/worker/operations/prefetched_rows.h"

namespace attune::ps {
namespace {

uint32_t DimOf(const PullCall& call) { return static_cast<uint32_t>(call.rows.size() / call.keys.size()); }

}  // namespace

WorkerPulls::WorkerPulls(const WorkerOptions& options, const ClusterView& cluster, const OwnRows& own,
                         RowRoutes& routes, PushWindow& pushes)
    : options_(options),
      cluster_(cluster),
      own_(own),
      routes_(routes),
      pushes_(pushes),
      calls_({.resend_after = options.reissue_after,
              .resend_after_max = options.reissue_after_max,
              .place_every_answer = options.mutations.place_every_answer,
              .ignore_deadline = options.mutations.ignore_pull_deadline}) {}

// --- calls

Status WorkerPulls::Check(const PullCall& call) const {
  const auto refuse = [](StatusCode code, const std::string& text) { return Error(code, "pull refused: " + text); };
  const TableSpec* const table = routes_.Find(call.table);
  if (table == nullptr) return refuse(StatusCode::kNotFound, "this table is not open; open it first");
  const uint32_t dim = table->options.dim;
  if (call.keys.size() > kKeysPerCallMax) {
    return refuse(StatusCode::kInvalidArgument, std::to_string(call.keys.size()) + " keys in one call, at most " +
                                                    std::to_string(kKeysPerCallMax) + " are allowed; pull in pieces");
  }
  if (call.rows.size() != call.keys.size() * dim) {
    return refuse(StatusCode::kInvalidArgument, "room for " + std::to_string(call.rows.size()) + " values given, " +
                                                    std::to_string(call.keys.size()) + " keys of dim " +
                                                    std::to_string(dim) + " need keys * dim");
  }
  if (!HasRoomFor(call.keys.size(), dim)) {
    return refuse(StatusCode::kResourceExhausted,
                  std::to_string(calls_.in_flight()) + " pulls of this worker are in flight; wait for some to end");
  }
  return OkStatus();
}

bool WorkerPulls::HasRoomFor(size_t keys, uint32_t dim) const {
  const size_t messages = keys / routes_.KeysPerMessage(dim) + cluster_.servers().size();
  return calls_.in_flight() + messages <= kPullsInFlightMax;
}

void WorkerPulls::Begin(const PullCall& call, bool in_place) {
  calls_.Begin(call, in_place);
  wake_.By(call.deadline);
}

void WorkerPulls::AskAll(const PullCall& call, MonotonicTime now, WorkerOutputs& out) {
  const uint32_t dim = DimOf(call);
  const size_t chunk = routes_.KeysPerMessage(dim);
  const RouteGroups& groups = routes_.Group(call.table, call.keys.view());
  for (size_t route = 0; route < groups.routes().size(); ++route) {
    const std::span<const uint32_t> places = groups.PlacesOf(route);
    for (size_t at = 0; at < places.size(); at += chunk) {
      AskPart(call, dim, groups.routes()[route], places.subspan(at, std::min(chunk, places.size() - at)), now, out);
    }
  }
  calls_.Added(call.call, out.completions);
}

void WorkerPulls::AskSome(const PullCall& call, std::span<const uint32_t> places, MonotonicTime now,
                          WorkerOutputs& out) {
  const uint32_t dim = DimOf(call);
  const size_t chunk = routes_.KeysPerMessage(dim);
  std::vector<Key> keys;
  for (const uint32_t place : places) keys.push_back(call.keys[place]);
  const RouteGroups& groups = routes_.Group(call.table, keys);
  std::vector<uint32_t> of_route;
  for (size_t route = 0; route < groups.routes().size(); ++route) {
    of_route.clear();
    for (const uint32_t place : groups.PlacesOf(route)) of_route.push_back(places[place]);
    for (size_t at = 0; at < of_route.size(); at += chunk) {
      const size_t count = std::min(chunk, of_route.size() - at);
      AskPart(call, dim, groups.routes()[route], std::span(of_route).subspan(at, count), now, out);
    }
  }
  calls_.Added(call.call, out.completions);
}

void WorkerPulls::AskPart(const PullCall& call, uint32_t dim, NodeId to, std::span<const uint32_t> places,
                          MonotonicTime now, WorkerOutputs& out) {
  PullCalls::Part part{.call = call.call, .to = to, .table = call.table, .dim = dim, .keys = {}, .places = places};
  part.keys = Slice<Key>::Filled(places.size(), [&](std::span<Key> keys) {
    for (size_t i = 0; i < places.size(); ++i) keys[i] = call.keys[places[i]];
  });
  if (!options_.mutations.pull_without_after) pushes_.FindOpenOf(call.table, part.keys.view(), part.after);
  if (const TableStore* const store = own_.StoreOf(call.table);
      to == cluster_.self() && store != nullptr && part.after.empty() && calls_.TakeFrom(*store, part)) {
    accesses_.owned += places.size();
    return;
  }
  if (!PrefetchedRows::IsFetch(call.call)) accesses_.remote += places.size();
  wake_.By(calls_.Add(std::move(part), SenderAt(now), To(now, out)));
}

void WorkerPulls::AskInstead(CallId call, TableId table, uint32_t dim, const std::map<uint32_t, Key>& rows,
                             MonotonicTime now, WorkerOutputs& out) {
  if (!calls_.Contains(call)) return;
  std::vector<Key> keys;
  std::vector<uint32_t> places;
  for (const auto& [place, key] : rows) {
    places.push_back(place);
    keys.push_back(key);
  }
  PullCalls::Part part{
      .call = call,
      .to = cluster_.map().HomeOf(keys.front()),
      .table = table,
      .dim = dim,
      .keys = Slice<Key>::Filled(keys.size(), [&](std::span<Key> to) { std::ranges::copy(keys, to.begin()); }),
      .places = places,
      .after = {}};
  pushes_.FindOpenOf(table, part.keys.view(), part.after);
  wake_.By(calls_.Add(std::move(part), SenderAt(now), To(now, out)));
  for (size_t i = 0; i < places.size(); ++i) calls_.Release(call, out.completions);
}

void WorkerPulls::Cancel(CallId call, WorkerOutputs& out) {
  calls_.End(call, Error(StatusCode::kCancelled, "pull: given up, as its last future was dropped"), out.completions);
}

bool WorkerPulls::PullHere(TableId table, std::span<const Key> keys, std::span<float> rows) {
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

PullCalls::Sender WorkerPulls::SenderAt(MonotonicTime now) const {
  return {.cluster = cluster_, .acked_below = pushes_.AckedBelow(), .now = now};
}

// --- answers

std::optional<PullCalls::Answered> WorkerPulls::Take(NodeId from, PullReply& message, WorkerOutputs& out) {
  auto answered = calls_.Take(from, message, cluster_.map(), out);
  if (answered) routes_.hints().LearnFrom(message, from, answered->table, answered->keys.view(), cluster_);
  return answered;
}

void WorkerPulls::Refused(NodeId from, const PullRefused& message, WorkerOutputs& out) {
  calls_.Refused(message.request, Annotate(message.status, "pull from " + Describe(cluster_.map(), from)),
                 out.completions);
}

std::span<float> WorkerPulls::PlaceOf(NodeId from, RequestId request, size_t values) {
  return cluster_.map().Contains(from) ? calls_.PlaceOf(from, request, values) : std::span<float>();
}

// --- connections, time

void WorkerPulls::Connected(NodeId peer, MonotonicTime now, WorkerOutputs& out) {
  calls_.SendTo(peer, SenderAt(now), To(now, out));
}

void WorkerPulls::Reissue(MonotonicTime now, WorkerOutputs& out) { calls_.SendAll(SenderAt(now), To(now, out)); }

void WorkerPulls::EndOverdue(MonotonicTime now, WorkerOutputs& out) {
  wake_.Reset(calls_.EndOverdue(now, cluster_.map(), out.completions));
}

void WorkerPulls::SendAgain(MonotonicTime now, WorkerOutputs& out) {
  wake_.By(calls_.SendAgain(SenderAt(now), To(now, out)));
}

}  // namespace attune::ps
