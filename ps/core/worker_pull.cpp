// Pulls of a worker: one call becomes a message per home, whose answers are written into the caller's rows.
#include <algorithm>
#include <utility>

#include "ps/core/limits.h"
#include "ps/core/worker_core.h"

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
  if (pull_messages_.size() + call.keys.size() / chunk + servers_.size() > kPullsInFlightMax) {
    return refuse(StatusCode::kResourceExhausted,
                  std::to_string(pull_messages_.size()) + " pulls of this worker are under way; wait for some to end");
  }
  if (call.keys.empty()) {
    out.completions.push_back({.call = call.call, .status = OkStatus(), .result = {}});
    return;
  }

  GroupByRoute(call.table, call.keys);
  OpenPull& pull = pulls_[call.call];
  pull = {.deadline = call.deadline, .rows = call.rows, .messages = {}, .open = 0, .table = call.table};
  WakeBy(call.deadline);
  for (size_t route = 0; route < routes_.size(); ++route) {
    for (size_t at = route_begin_[route]; at < route_begin_[route + 1]; at += chunk) {
      const size_t count = std::min<size_t>(chunk, route_begin_[route + 1] - at);
      PullPart(call, pull, routes_[route], std::span(order_).subspan(at, count), now, out);
    }
  }
  if (pull.open == 0) EndPull(call.call, OkStatus(), out);
}

void WorkerCore::PullPart(const PullCall& call, OpenPull& pull, NodeId to, std::span<const uint32_t> places,
                          MonotonicTime now, WorkerOutputs& out) {
  const uint32_t dim = dims_.at(call.table);
  const size_t count = places.size();
  PullMessage message{.call = call.call, .to = to, .table = call.table, .dim = dim};
  message.keys = Slice<Key>::Filled(count, [&](std::span<Key> keys) {
    for (size_t i = 0; i < count; ++i) keys[i] = call.keys[places[i]];
  });
  if (!options_.mutations.pull_without_after) IndexOpenPushes();
  if (!unacknowledged_.empty() && !options_.mutations.pull_without_after) {
    for (uint32_t i = 0; i < count; ++i) unacknowledged_.Find(call.table, message.keys[i], i, message.after);
  }
  if (const TableStore* const store = StoreOf(call.table); to == node_ && store != nullptr && message.after.empty()) {
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
  if (pull.to != node_ && !Connected(pull.to)) return;  // sent when the connection is there
  const SequenceNumber acked_below = AckedBelow();
  std::erase_if(pull.after, [&](const After& after) { return after.sequence <= acked_below; });
  Pull message{.origin = node_,
               .request = request,
               .table = pull.table,
               .map_version = map_.version,
               .acked_below = acked_below,
               .remaining = pulls_.at(pull.call).deadline - now,
               .keys = pull.keys,
               .after = pull.after,
               .positions = {.first = 0, .count = static_cast<uint32_t>(pull.keys.size()), .list = {}}};
  if (pull.to == node_) return ToRows(std::move(message), now, out);
  out.send.push_back({.to = pull.to, .message = std::move(message)});
}

std::span<float> WorkerCore::PlaceOf(RequestId request, size_t values) const {
  const auto it = pull_messages_.find(request);
  if (it == pull_messages_.end()) return {};
  const PullMessage& part = it->second;
  // Places ascend.
  const bool in_one_piece = part.places.back() - part.places.front() + 1 == part.places.size();
  if (!in_one_piece || values != part.places.size() * part.dim) return {};
  return pulls_.at(part.call).rows.subspan(size_t{part.places.front()} * part.dim, values);
}

// Keys whose rows lie on several nodes are answered by each of them.
void WorkerCore::OnMessage(NodeId from, PullReply&& message, MonotonicTime, WorkerOutputs& out) {
  const auto it = pull_messages_.find(message.request);
  if (it == pull_messages_.end()) return;  // a second answer, or the call has ended
  PullMessage& part = it->second;
  const size_t count = message.positions.size();
  const bool fits = message.rows.size() == count * part.dim && count <= part.keys.size() &&
                    (count == 0 || message.positions.At(count - 1) < part.keys.size());
  if (!fits) {
    const CallId call = part.call;
    EndPull(call,
            Error(StatusCode::kInternal, "pull: " + Describe(map_, from) + " answered with " +
                                             std::to_string(message.rows.size()) + " values for " +
                                             std::to_string(count) + " of " + std::to_string(part.keys.size()) +
                                             " keys; worker and server do not fit together"),
            out);
    return;
  }
  OpenPull& pull = pulls_.at(part.call);
  const bool whole = count == part.keys.size();
  if (whole) seen_.Note(part.table, part.keys.view(), message.versions.view());
  if (whole && message.positions.list.empty()) {
    Learn(part.table, part.keys.view(), from);
  } else {
    for (size_t i = 0; i < count; ++i) Learn(part.table, part.keys.view().subspan(message.positions.At(i), 1), from);
  }
  if (!whole || message.rows.data() != &pull.rows[size_t{part.places[0]} * part.dim]) {
    for (size_t i = 0; i < count; ++i) {
      const size_t place = part.places[whole ? i : message.positions.At(i)];
      std::copy_n(message.rows.data() + i * part.dim, part.dim, &pull.rows[place * part.dim]);
    }
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
  EndPull(it->second.call, Annotate(message.status, "pull from " + Describe(map_, from)), out);
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
  if (message.map_version > map_.version) AskForMap(now, out);
}

}  // namespace attune::ps
