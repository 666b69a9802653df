// Pushes of a worker: from the call until every key is settled.
#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/worker/worker_core.h"

namespace attune::ps {
namespace {

bool IsSettled(const std::vector<uint64_t>& bits, uint32_t position) {
  return ((bits[position / 64] >> (position % 64)) & 1) != 0;
}

}  // namespace

SequenceNumber WorkerCore::AckedBelow() const {
  if (options_.mutations.acked_below_skips_open) return SequenceNumber(next_sequence_.value() - 1);
  return SettledBelow();
}

SequenceNumber WorkerCore::SettledBelow() const {
  return SequenceNumber(pushes_.empty() ? next_sequence_.value() - 1 : pushes_.front().sequence.value() - 1);
}

WorkerCore::OpenPush* WorkerCore::FindPush(SequenceNumber sequence) {
  if (pushes_.empty() || sequence < pushes_.front().sequence || sequence > pushes_.back().sequence) return nullptr;
  return &pushes_[sequence.value() - pushes_.front().sequence.value()];
}

// Most pushes are settled before anybody asks which keys they touch, so the index of keys is made when it is wanted.
void WorkerCore::IndexOpenPushes() {
  if (pushes_.empty()) {
    next_to_index_ = next_sequence_;
    return;
  }
  next_to_index_ = std::max(next_to_index_, pushes_.front().sequence);
  for (; next_to_index_ < next_sequence_; next_to_index_ = next_to_index_.Next()) {
    const OpenPush& push = *FindPush(next_to_index_);
    for (uint32_t position = 0; position < push.keys.size(); ++position) {
      if (!IsSettled(push.settled, position)) {
        unacknowledged_.Add(push.table, push.keys[position], push.sequence, position);
      }
    }
  }
}

size_t WorkerCore::KeysPerMessage(uint32_t dim) const {
  return std::max<size_t>(1, std::min({options_.keys_per_message_max, kKeysPerMessageMax, kFloatsPerMessageMax / dim}));
}

// Own table, else where the row was last seen, else its home; then a counting sort of the keys' places: one pass to
// count, one to place.
void WorkerCore::GroupByRoute(TableId table, const Slice<Key>& keys) {
  const auto count = static_cast<uint32_t>(keys.size());
  const TableStore* const store = StoreOf(table);
  routes_ = cluster_.servers();
  order_.resize(count);
  if (cluster_.servers().size() == 1 && store == nullptr && locations_.empty()) {
    for (uint32_t i = 0; i < count; ++i) order_[i] = i;
    route_begin_ = {0, count};
    return;
  }
  const auto here = static_cast<uint16_t>(routes_.size());
  if (store != nullptr) {
    routes_.push_back(cluster_.self());
    present_.assign((count + 63) / 64, 0);
    store->Contains(keys.view(), present_);
  }
  const auto route_of_owner = [&](NodeId owner) {
    const auto route = static_cast<size_t>(std::ranges::find(routes_, owner) - routes_.begin());
    if (route == routes_.size()) routes_.push_back(owner);
    return static_cast<uint16_t>(route);
  };
  route_scratch_.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    uint16_t& route = route_scratch_[i];
    route = cluster_.HomePlace(keys[i]);
    if (store != nullptr && ((present_[i / 64] >> (i % 64)) & 1) != 0) {
      route = here;
    } else if (const NodeId owner = locations_.Find(table, keys[i]); owner != NodeId() && cluster_.IsConnected(owner)) {
      route = route_of_owner(owner);
    }
  }
  route_begin_.assign(routes_.size() + 1, 0);
  for (uint32_t i = 0; i < count; ++i) ++route_begin_[route_scratch_[i] + 1U];
  for (size_t route = 1; route < route_begin_.size(); ++route) route_begin_[route] += route_begin_[route - 1];
  next_place_.assign(route_begin_.begin(), route_begin_.end() - 1);
  for (uint32_t i = 0; i < count; ++i) order_[next_place_[route_scratch_[i]]++] = i;
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

  OpenPush push{.sequence = next_sequence_,
                .call = call.call,
                .deadline = call.deadline,
                .table = call.table,
                .dim = dim,
                .step = gate_.clock()};
  next_sequence_ = next_sequence_.Next();
  MakeUniqueAndGroup(call, push);
  push.open = static_cast<uint32_t>(push.keys.size());
  push.settled.assign((push.keys.size() + 63) / 64, 0);
  WakeBy(push.deadline);
  pushes_.push_back(std::move(push));
  SendWaitingPushes(now, out);
}

// Sums gradients of equal keys, then brings keys and gradients into the order of their routes. Without repeats and with
// one route the caller's memory is used as it is.
void WorkerCore::MakeUniqueAndGroup(const PushCall& call, OpenPush& push) {
  const uint32_t dim = push.dim;
  const auto count = static_cast<uint32_t>(call.keys.size());
  unique_.Start(count);
  uint32_t unique_count = 0;
  unique_place_.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t place = unique_.FindOrInsert(call.keys[i], unique_count);
    unique_place_[i] = place;
    unique_count += place == unique_count ? 1 : 0;
  }

  Slice<Key> keys = call.keys;
  Slice<float> gradients = call.gradients;
  if (unique_count != count) {
    std::vector<Key> summed_keys(unique_count);
    std::vector<float> sums(size_t{unique_count} * dim, 0.0F);
    for (uint32_t i = 0; i < count; ++i) {
      summed_keys[unique_place_[i]] = call.keys[i];
      float* sum = &sums[size_t{unique_place_[i]} * dim];
      const float* gradient = call.gradients.data() + size_t{i} * dim;
      for (uint32_t j = 0; j < dim; ++j) sum[j] += gradient[j];
    }
    keys = Slice<Key>(std::move(summed_keys));
    gradients = Slice<float>(std::move(sums));
  }

  GroupByRoute(push.table, keys);
  push.homes_version = cluster_.homes_version();
  if (routes_.size() == 1) {
    push.keys = std::move(keys);
    push.gradients = std::move(gradients);
    return;
  }
  push.keys = Slice<Key>::Filled(unique_count, [&](std::span<Key> grouped) {
    for (uint32_t i = 0; i < unique_count; ++i) grouped[i] = keys[order_[i]];
  });
  push.gradients = Slice<float>::Filled(size_t{unique_count} * dim, [&](std::span<float> grouped) {
    for (uint32_t i = 0; i < unique_count; ++i) {
      std::copy_n(gradients.data() + size_t{order_[i]} * dim, dim, &grouped[size_t{i} * dim]);
    }
  });
  push.routes = routes_;
  push.route_begin = route_begin_;
}

void WorkerCore::SendWaitingPushes(MonotonicTime now, WorkerOutputs& out) {
  if (pushes_.empty()) return;
  const uint64_t last = pushes_.front().sequence.value() + options_.pushes_in_flight_max - 1;
  while (next_to_send_ < next_sequence_ && next_to_send_.value() <= last) {
    OpenPush* push = FindPush(next_to_send_);
    ATTUNE_CHECK(push != nullptr) << "push " << next_to_send_ << " left before it was sent";
    push->sent = true;
    push->backoff = options_.reissue_after;
    push->send_again = options_.mutations.no_reissue ? kNever : now + push->backoff;
    WakeBy(push->send_again);
    SendWhole(*push, now, out);
    next_to_send_ = next_to_send_.Next();
  }
}

// First issue: each route's keys are a consecutive piece.
void WorkerCore::SendWhole(const OpenPush& push, MonotonicTime now, WorkerOutputs& out) {
  if (push.homes_version != cluster_.homes_version()) return SendOpenKeys(push, {}, now, out);
  const size_t chunk = KeysPerMessage(push.dim);
  const bool alone = push.routes.empty();
  for (size_t route = 0; route < (alone ? 1 : push.routes.size()); ++route) {
    const NodeId to = alone ? cluster_.servers()[0] : push.routes[route];
    const size_t begin = alone ? 0 : push.route_begin[route];
    const size_t end = alone ? push.keys.size() : push.route_begin[route + 1];
    for (size_t at = begin; at < end; at += chunk) {
      const size_t count = std::min(chunk, end - at);
      Positions positions{.first = static_cast<uint32_t>(at), .count = static_cast<uint32_t>(count), .list = {}};
      const Slice<Key> keys = push.keys.Part(at, count);
      const Slice<float> gradients = push.gradients.Part(at * push.dim, count * push.dim);
      if (to == cluster_.self() && ApplyHere(push, positions, keys.view(), gradients.view())) continue;
      SendPart(push, to, std::move(positions), keys, gradients, now, out);
    }
  }
}

// Re-issue: what is still open, routed by the map of today, in whatever pieces that makes.
void WorkerCore::SendOpenKeys(const OpenPush& push, std::optional<NodeId> only, MonotonicTime now, WorkerOutputs& out) {
  std::vector<std::vector<uint32_t>> open(cluster_.servers().size());
  for (uint32_t position = 0; position < push.keys.size(); ++position) {
    if (IsSettled(push.settled, position)) continue;
    const uint16_t home = cluster_.HomePlace(push.keys[position]);
    if (!only || cluster_.servers()[home] == *only) open[home].push_back(position);
  }
  const size_t chunk = KeysPerMessage(push.dim);
  for (size_t home = 0; home < cluster_.servers().size(); ++home) {
    for (size_t at = 0; at < open[home].size(); at += chunk) {
      const size_t count = std::min(chunk, open[home].size() - at);
      SendPositions(push, cluster_.servers()[home], std::span(open[home]).subspan(at, count), now, out);
    }
  }
}

void WorkerCore::SendPositions(const OpenPush& push, NodeId to, std::span<const uint32_t> positions, MonotonicTime now,
                               WorkerOutputs& out) {
  const size_t count = positions.size();
  if (positions.back() - positions.front() + 1 == count) {
    SendPart(push, to, {.first = positions.front(), .count = static_cast<uint32_t>(count), .list = {}},
             push.keys.Part(positions.front(), count),
             push.gradients.Part(size_t{positions.front()} * push.dim, count * push.dim), now, out);
    return;
  }
  Slice<Key> keys = Slice<Key>::Filled(count, [&](std::span<Key> gathered) {
    for (size_t i = 0; i < count; ++i) gathered[i] = push.keys[positions[i]];
  });
  Slice<float> gradients = Slice<float>::Filled(count * push.dim, [&](std::span<float> gathered) {
    for (size_t i = 0; i < count; ++i) {
      std::copy_n(push.gradients.data() + size_t{positions[i]} * push.dim, push.dim, &gathered[i * push.dim]);
    }
  });
  SendPart(push, to, {.list = {positions.begin(), positions.end()}}, std::move(keys), std::move(gradients), now, out);
}

void WorkerCore::SendPart(const OpenPush& push, NodeId to, Positions positions, Slice<Key> keys, Slice<float> gradients,
                          MonotonicTime now, WorkerOutputs& out) {
  // An owner that cannot be reached: any server knows the way. A server: sent when the connection is there.
  if (to != cluster_.self() && !cluster_.IsConnected(to) && !cluster_.IsServer(to)) to = cluster_.map().HomeOf(keys[0]);
  if (to != cluster_.self() && !cluster_.IsConnected(to)) return;
  Push message{.origin = cluster_.self(),
               .sequence = push.sequence,
               .table = push.table,
               .map_version = cluster_.map().version,
               .acked_below = AckedBelow(),
               .positions = std::move(positions),
               .keys = std::move(keys),
               .gradients = std::move(gradients),
               .step = push.step};
  std::tie(message.seen_index, message.seen) = seen_.Take(push.table, message.keys.view());
  if (to == cluster_.self()) return ToRows(std::move(message), now, out);
  out.send.push_back({.to = to, .message = std::move(message)});
}

void WorkerCore::OnMessage(NodeId, PushAck&& message, MonotonicTime now, WorkerOutputs& out) {
  const OpenPush* const push = FindPush(message.sequence);
  if (push != nullptr && message.staleness != kNotMeasured) staleness_.Add(message.staleness);
  if (push != nullptr && message.owner != NodeId() && message.owner != cluster_.self()) {
    for (size_t i = 0; i < message.positions.size(); ++i) {
      const uint32_t position = message.positions.At(i);
      if (position < push->keys.size()) Learn(push->table, push->keys.view().subspan(position, 1), message.owner);
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
  OpenPush* push = FindPush(sequence);
  if (push == nullptr || positions.size() > push->keys.size()) return;  // a second answer, or not ours
  for (size_t i = 0; i < positions.size(); ++i) {
    const uint32_t position = positions.At(i);
    if (position >= push->keys.size() || IsSettled(push->settled, position)) continue;
    push->settled[position / 64] |= uint64_t{1} << (position % 64);
    --push->open;
    if (sequence < next_to_index_) unacknowledged_.Remove(push->table, push->keys[position], sequence);
  }
  if (push->refused.ok()) push->refused = status;
  if (push->open > 0) return;
  if (push->call_open) {
    push->call_open = false;
    out.completions.push_back({.call = push->call, .status = push->refused, .result = {}});
  }
  if (pushes_.front().open > 0) return;
  while (!pushes_.empty() && pushes_.front().open == 0) pushes_.pop_front();
  AfterPushesSettled(now, out);
  SendWaitingPushes(now, out);
}

// acked_below has risen: what waited for it.
void WorkerCore::AfterPushesSettled(MonotonicTime now, WorkerOutputs& out) {
  const SequenceNumber settled = SettledBelow();
  if (takes_rows_) {
    RowOutputs rows;
    rows_.LearnSettled(cluster_.self(), AckedBelow(), rows);
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
