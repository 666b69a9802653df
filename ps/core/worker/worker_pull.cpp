// Pulls of a worker: one call becomes a message per home, whose answers are written into the caller's rows.
#include <algorithm>
#include <functional>
#include <utility>

#include "ps/core/protocol/limits.h"
#include "ps/core/worker/worker_core.h"

namespace attune::ps {
namespace {

constexpr size_t kAnswersWaitingMax = 16;  // per message; what is beyond that is asked for again

// Every position a key of the message, and none twice.
bool AreOf(size_t keys, const Positions& positions) {
  if (positions.list.empty()) return size_t{positions.first} + positions.count <= keys;
  return positions.list.back() < keys &&
         std::ranges::adjacent_find(positions.list, std::greater_equal<>()) == positions.list.end();
}

}  // namespace

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
  if (pull_messages_.size() + call.keys.size() / chunk + cluster_.servers().size() > kPullsInFlightMax) {
    return refuse(StatusCode::kResourceExhausted,
                  std::to_string(pull_messages_.size()) + " pulls of this worker are in flight; wait for some to end");
  }
  if (call.keys.empty()) {
    out.completions.push_back({.call = call.call, .status = OkStatus(), .result = {}});
    return;
  }

  routes_.Group(call.table, call.keys.view(), cluster_, locations_, StoreOf(call.table));
  OpenPull& pull = pulls_[call.call];
  pull = {.deadline = call.deadline, .rows = call.rows, .messages = {}, .open = 0, .table = call.table};
  WakeBy(call.deadline);
  for (size_t route = 0; route < routes_.routes().size(); ++route) {
    const std::span<const uint32_t> places = routes_.PlacesOf(route);
    for (size_t at = 0; at < places.size(); at += chunk) {
      PullPart(call, pull, routes_.routes()[route], places.subspan(at, std::min(chunk, places.size() - at)), now, out);
    }
  }
  if (pull.open == 0) EndPull(call.call, OkStatus(), out);
}

void WorkerCore::On(CancelPull call, MonotonicTime, WorkerOutputs& out) {
  EndPull(call.call, Error(StatusCode::kCancelled, "pull: given up, as its last future was dropped"), out);
}

void WorkerCore::PullPart(const PullCall& call, OpenPull& pull, NodeId to, std::span<const uint32_t> places,
                          MonotonicTime now, WorkerOutputs& out) {
  const uint32_t dim = dims_.at(call.table);
  const size_t count = places.size();
  PullMessage message{.call = call.call, .to = to, .table = call.table, .dim = dim};
  message.keys = Slice<Key>::Filled(count, [&](std::span<Key> keys) {
    for (size_t i = 0; i < count; ++i) keys[i] = call.keys[places[i]];
  });
  if (!options_.mutations.pull_without_after) pushes_.FindOpenOf(call.table, message.keys.view(), message.after);
  if (const TableStore* const store = StoreOf(call.table);
      to == cluster_.self() && store != nullptr && message.after.empty()) {
    here_rows_.resize(count * dim);
    if (store->PullIfPresent(message.keys.view(), here_rows_)) {
      for (size_t i = 0; i < count; ++i) {
        std::copy_n(&here_rows_[i * dim], dim, &pull.rows[size_t{places[i]} * dim]);
      }
      return;
    }
  }
  message.places.assign(places.begin(), places.end());
  message.backoff = options_.reissue_after;
  message.send_again = now + message.backoff;
  WakeBy(message.send_again);
  const RequestId request = std::exchange(next_pull_, next_pull_.Next());
  pull.messages.push_back(request);
  ++pull.open;
  SendPull(request, pull_messages_[request] = std::move(message), now, out);
}

void WorkerCore::SendPull(RequestId request, PullMessage& pull, MonotonicTime now, WorkerOutputs& out) {
  if (pull.to != cluster_.self() && !cluster_.IsConnected(pull.to)) return;  // sent when the connection is there
  const SequenceNumber acked_below = pushes_.AckedBelow();
  std::erase_if(pull.after, [&](const After& after) { return after.sequence <= acked_below; });
  Pull message{.origin = cluster_.self(),
               .request = request,
               .table = pull.table,
               .map_version = cluster_.map().version,
               .acked_below = acked_below,
               .remaining = pulls_.at(pull.call).deadline - now,
               .keys = pull.keys,
               .after = pull.after,
               .positions = {.first = 0, .count = static_cast<uint32_t>(pull.keys.size()), .list = {}}};
  if (pull.to == cluster_.self()) return ToRows(std::move(message), now, out);
  out.send.push_back({.to = pull.to, .message = std::move(message)});
}

// --- where answers are received

std::span<float> WorkerCore::RowsOf(const PullMessage& part) const {
  // Places ascend.
  const bool in_one_piece = part.places.back() - part.places.front() + 1 == part.places.size();
  if (!in_one_piece) return {};
  return pulls_.at(part.call).rows.subspan(size_t{part.places.front()} * part.dim, part.places.size() * part.dim);
}

std::span<float> WorkerCore::PlaceOf(NodeId from, RequestId request, size_t values) {
  const auto it = pull_messages_.find(request);
  if (it == pull_messages_.end() || !cluster_.map().Contains(from)) return {};
  PullMessage& part = it->second;
  const std::span<float> rows = RowsOf(part);
  if (rows.empty() || values != rows.size()) return {};
  const bool untouched = !part.placed_by && part.waiting.empty() && part.answered.empty();
  if (!untouched && !options_.mutations.place_every_answer) return {};
  part.placed_by = from;
  return rows;
}

// Received where PlaceOf said, and complete.
bool WorkerCore::IsInPlace(NodeId from, const PullReply& reply) const {
  const auto it = pull_messages_.find(reply.request);
  if (it == pull_messages_.end() || reply.rows.empty()) return false;
  return it->second.placed_by == from && reply.rows.data() == RowsOf(it->second).data();
}

// An answer that is not handled yet keeps nothing of the program's memory.
void WorkerCore::TakeOutOfPlace(NodeId from, PullReply& reply) {
  if (!IsInPlace(from, reply)) return;
  reply.rows = Slice<float>::Filled(reply.rows.size(),
                                    [&](std::span<float> copy) { std::ranges::copy(reply.rows, copy.begin()); });
  pull_messages_.at(reply.request).placed_by.reset();
}

void WorkerCore::On(RowsRevoked input, MonotonicTime now, WorkerOutputs& out) {
  const auto it = pull_messages_.find(input.request);
  if (it == pull_messages_.end()) return;
  it->second.placed_by.reset();
  for (auto& [from, reply] : std::exchange(it->second.waiting, {})) OnMessage(from, std::move(reply), now, out);
}

// The connection is closed: nothing is received over it any more.
void WorkerCore::FreePlacesOf(NodeId peer, MonotonicTime now, WorkerOutputs& out) {
  std::vector<RequestId> freed;
  for (const auto& [request, part] : pull_messages_) {
    if (part.placed_by == peer) freed.push_back(request);
  }
  for (const RequestId request : freed) On(RowsRevoked{request}, now, out);
}

// --- answers

// Keys whose rows lie on several nodes are answered by each of them.
void WorkerCore::OnMessage(NodeId from, PullReply&& message, MonotonicTime, WorkerOutputs& out) {
  const auto it = pull_messages_.find(message.request);
  if (it == pull_messages_.end()) return;  // a second answer, or the call has ended
  PullMessage& part = it->second;
  const size_t count = message.positions.size();
  if (message.rows.size() != count * part.dim || !AreOf(part.keys.size(), message.positions)) {
    const CallId call = part.call;
    EndPull(call,
            Error(StatusCode::kInternal, "pull: " + Describe(cluster_.map(), from) + " answered with " +
                                             std::to_string(message.rows.size()) + " values for " +
                                             std::to_string(count) + " of " + std::to_string(part.keys.size()) +
                                             " keys; worker and server do not fit together"),
            out);
    return;
  }
  const bool in_place = IsInPlace(from, message);
  if (part.placed_by && !in_place && !options_.mutations.place_every_answer) {
    if (part.waiting.empty()) out.revoke.push_back({.request = message.request, .rows = RowsOf(part)});
    if (part.waiting.size() < kAnswersWaitingMax) part.waiting.emplace_back(from, std::move(message));
    return;
  }
  part.placed_by.reset();
  OpenPull& pull = pulls_.at(part.call);
  const bool whole = count == part.keys.size();
  if (whole) seen_.Note(part.table, part.keys.view(), message.versions.view());
  if (whole && message.positions.list.empty()) {
    Learn(part.table, part.keys.view(), from);
  } else {
    for (size_t i = 0; i < count; ++i) Learn(part.table, part.keys.view().subspan(message.positions.At(i), 1), from);
  }
  for (size_t i = 0; i < count && !in_place; ++i) {
    const size_t place = part.places[message.positions.At(i)];
    std::copy_n(message.rows.data() + i * part.dim, part.dim, &pull.rows[place * part.dim]);
  }
  if (!whole) {
    part.answered.resize(part.keys.size());
    for (size_t i = 0; i < count; ++i) part.answered[message.positions.At(i)] = true;
    if (std::ranges::find(part.answered, false) != part.answered.end()) return;
  }
  const CallId call = part.call;
  pull_messages_.erase(it);
  if (--pull.open > 0) return;
  EndPull(call, OkStatus(), out);
}

void WorkerCore::OnMessage(NodeId from, PullRefused&& message, MonotonicTime, WorkerOutputs& out) {
  const auto it = pull_messages_.find(message.request);
  if (it == pull_messages_.end()) return;
  EndPull(it->second.call, Annotate(message.status, "pull from " + Describe(cluster_.map(), from)), out);
}

void WorkerCore::EndPull(CallId call, const Status& status, WorkerOutputs& out) {
  const auto it = pulls_.find(call);
  if (it == pulls_.end()) return;
  for (const RequestId request : it->second.messages) pull_messages_.erase(request);
  pulls_.erase(it);
  out.completions.push_back({.call = call, .status = status, .result = {}});
}

// The server's map is another one. The newer map, wherever it is missing, sets things right: here it is asked for; the
// message goes out again after the usual time.
void WorkerCore::OnMessage(NodeId, Moved&& message, MonotonicTime now, WorkerOutputs& out) {
  if (message.map_version > cluster_.map().version) AskForMap(now, out);
}

}  // namespace attune::ps
