// Pushes and pulls at a server.
#include <algorithm>
#include <utility>

#include "ps/core/server_core.h"

namespace attune::ps {
namespace {

MonotonicTime DeadlineAfter(Duration remaining, MonotonicTime now) {
  return remaining < kNever - now ? now + remaining : kNever;
}

Status NoSuchTable(TableId table) {
  return Error(StatusCode::kNotFound,
               "table " + std::to_string(table.value()) + " is not installed on this server; open it first");
}

// Positions come from outside: ascending, in bounds, one per key.
bool FitKeys(const Positions& positions, size_t keys) {
  if (positions.size() != keys) return false;
  if (positions.list.empty()) return positions.first <= kKeysPerCallMax && positions.first + keys <= kKeysPerCallMax;
  return positions.list.back() < kKeysPerCallMax &&
         std::ranges::adjacent_find(positions.list, std::greater_equal<>()) == positions.list.end();
}

}  // namespace

template <typename RowMessage>
bool ServerCore::Admit(NodeId from, RowMessage& message, MonotonicTime deadline, MonotonicTime now,
                       ServerOutputs& out) {
  if (message.map_version > map_.version) {  // nothing sent under a map is handled under an older one
    AskForMap(now, out);
    if (held_.size() < kHeldMessagesMax) {
      if (deadline != kNever) next_deadline_ = std::min(next_deadline_, deadline);
      held_.push_back({.from = from, .message = std::move(message), .deadline = deadline});
    }  // else it comes again
    return false;
  }
  return map_.Contains(message.origin);  // a removed node's messages are dropped
}

bool ServerCore::AllMine(const Slice<Key>& keys) const {
  const uint32_t shards = map_.shard_count();
  const Shard* all = map_.shards.data();
  return std::ranges::all_of(keys, [&](Key key) { return all[ShardMap::ShardIndex(key, shards)].home == node_; });
}

// --- pushes

Status ServerCore::CheckPush(NodeId from, const Push& push) const {
  if (push.origin != from) {
    return Error(StatusCode::kInvalidArgument, "a push of node " + std::to_string(push.origin.value()) +
                                                   " came from node " + std::to_string(from.value()));
  }
  if (push.keys.empty() || push.keys.size() > kKeysPerMessageMax || push.gradients.size() > kFloatsPerMessageMax) {
    return Error(StatusCode::kInvalidArgument,
                 std::to_string(push.keys.size()) + " keys and " + std::to_string(push.gradients.size()) +
                     " values in one message; at most " + std::to_string(kKeysPerMessageMax) + " and " +
                     std::to_string(kFloatsPerMessageMax) + " are allowed");
  }
  if (!FitKeys(push.positions, push.keys.size())) {
    return Error(StatusCode::kInvalidArgument, "positions do not fit the keys; worker and server do not fit together");
  }
  if (push.sequence.value() > filter_.AckedBelow(push.origin).value() + kPushWindowMax) {
    return Error(StatusCode::kResourceExhausted, "more than " + std::to_string(kPushWindowMax) +
                                                     " pushes of one worker are in flight; wait for acknowledgements");
  }
  const TableStore* store = Find(push.table);
  if (store == nullptr) return NoSuchTable(push.table);
  const uint32_t dim = store->spec().options.dim;
  if (push.gradients.size() != push.keys.size() * dim) {
    return Error(StatusCode::kInvalidArgument, "table \"" + store->spec().name + "\" has dim " + std::to_string(dim) +
                                                   ": " + std::to_string(push.keys.size()) + " keys need " +
                                                   std::to_string(push.keys.size() * dim) + " values, " +
                                                   std::to_string(push.gradients.size()) + " were sent");
  }
  return OkStatus();
}

void ServerCore::Refuse(const Push& push, Status status, ServerOutputs& out) {
  ++counters_.refused;
  out.send.push_back({.to = push.origin,
                      .message = PushRefused{.sequence = push.sequence,
                                             .map_version = map_.version,
                                             .positions = push.positions,
                                             .status = std::move(status)}});
}

void ServerCore::OnMessage(NodeId from, Push&& push, MonotonicTime now, ServerOutputs& out) {
  if (!Admit(from, push, kNever, now, out)) return;
  ++counters_.pushes;
  const bool settled_more = push.origin == from && filter_.MergeAckedBelow(push.origin, push.acked_below);
  if (filter_.Covered(push.origin, push.sequence) && !options_.mutations.no_duplicate_filter) {
    ++counters_.duplicate_pushes;  // the origin knows already
  } else if (Status status = CheckPush(from, push); !status.ok()) {
    Refuse(push, std::move(status), out);
  } else if (!AllMine(push.keys)) {
    out.send.push_back(
        {.to = from, .message = Moved{.map_version = map_.version, .request = {}, .sequence = push.sequence}});
  } else if (options_.mutations.acknowledge_before_applying) {
    AcknowledgeThenApply(std::move(push), out);
    RetryParked(from, out);
    return;
  } else {
    Apply(push, out);
    RetryParked(push.origin, out);
    return;
  }
  if (settled_more) RetryParked(push.origin, out);
}

void ServerCore::Apply(const Push& push, ServerOutputs& out) {
  if (!filter_.HasRecord(push.origin, push.sequence) || options_.mutations.no_duplicate_filter) {
    return ApplyNew(push, push.positions, push.keys.view(), push.gradients.view(), out);
  }
  ++counters_.duplicate_pushes;
  if (options_.mutations.filter_per_message) {
    out.send.push_back(
        {.to = push.origin,
         .message = PushAck{.sequence = push.sequence, .map_version = map_.version, .positions = push.positions}});
    return;
  }
  ApplyOpenKeys(push, out);
}

void ServerCore::ApplyNew(const Push& push, const Positions& positions, std::span<const Key> keys,
                          std::span<const float> gradients, ServerOutputs& out) {
  Status status = Find(push.table)->Push(keys, gradients);
  using enum DuplicateFilter::Decision;
  filter_.Record(push.origin, push.sequence, positions, status.ok() ? kApplied : kRefused);
  if (!status.ok()) {
    ++counters_.refused;
    out.send.push_back({.to = push.origin,
                        .message = PushRefused{.sequence = push.sequence,
                                               .map_version = map_.version,
                                               .positions = positions,
                                               .status = std::move(status)}});
    return;
  }
  counters_.pushed_keys += keys.size();
  out.send.push_back(
      {.to = push.origin,
       .message = PushAck{.sequence = push.sequence, .map_version = map_.version, .positions = positions}});
}

// Some keys of this push were decided before: another part of the same push, or an earlier copy cut in other pieces.
// What is open is applied; what was decided is answered as it was decided.
void ServerCore::ApplyOpenKeys(const Push& push, ServerOutputs& out) {
  Positions open, applied, refused;
  std::vector<Key> keys;
  std::vector<float> gradients;
  const size_t dim = push.gradients.size() / push.keys.size();
  for (size_t i = 0; i < push.keys.size(); ++i) {
    const uint32_t position = push.positions.At(i);
    switch (filter_.Find(push.origin, push.sequence, position)) {
      case DuplicateFilter::Decision::kApplied:
        applied.list.push_back(position);
        break;
      case DuplicateFilter::Decision::kRefused:
        refused.list.push_back(position);
        break;
      case DuplicateFilter::Decision::kOpen:
        open.list.push_back(position);
        keys.push_back(push.keys[i]);
        gradients.insert(gradients.end(), push.gradients.data() + i * dim, push.gradients.data() + (i + 1) * dim);
        break;
    }
  }
  if (!applied.list.empty()) {
    out.send.push_back(
        {.to = push.origin,
         .message = PushAck{.sequence = push.sequence, .map_version = map_.version, .positions = std::move(applied)}});
  }
  if (!refused.list.empty()) {
    out.send.push_back({.to = push.origin,
                        .message = PushRefused{.sequence = push.sequence,
                                               .map_version = map_.version,
                                               .positions = std::move(refused),
                                               .status = Error(StatusCode::kFailedPrecondition,
                                                               "these keys were refused when they were sent first")}});
  }
  if (!open.list.empty()) ApplyNew(push, open, keys, gradients, out);
}

// A deliberate mistake (see Mutations): what is acknowledged lies in memory until the next push and may be lost.
void ServerCore::AcknowledgeThenApply(Push&& push, ServerOutputs& out) {
  ServerOutputs ignored;
  for (const Push& early : acknowledged_early_) Apply(early, ignored);
  acknowledged_early_.clear();
  out.send.push_back(
      {.to = push.origin,
       .message = PushAck{.sequence = push.sequence, .map_version = map_.version, .positions = push.positions}});
  acknowledged_early_.push_back(std::move(push));
}

// --- pulls

Status ServerCore::CheckPull(NodeId from, const Pull& pull) const {
  if (pull.origin != from) {
    return Error(StatusCode::kInvalidArgument, "a pull of node " + std::to_string(pull.origin.value()) +
                                                   " came from node " + std::to_string(from.value()));
  }
  const TableStore* store = Find(pull.table);
  if (store == nullptr) return NoSuchTable(pull.table);
  const size_t values = pull.keys.size() * store->spec().options.dim;
  if (pull.keys.empty() || pull.keys.size() > kKeysPerMessageMax || values > kFloatsPerMessageMax ||
      pull.after.size() > kAfterPerMessageMax) {
    return Error(StatusCode::kInvalidArgument,
                 std::to_string(pull.keys.size()) + " keys with " + std::to_string(values) + " values and " +
                     std::to_string(pull.after.size()) + " open pushes in one message; at most " +
                     std::to_string(kKeysPerMessageMax) + ", " + std::to_string(kFloatsPerMessageMax) + " and " +
                     std::to_string(kAfterPerMessageMax) + " are allowed");
  }
  return OkStatus();
}

void ServerCore::OnMessage(NodeId from, Pull&& pull, MonotonicTime now, ServerOutputs& out) {
  const MonotonicTime deadline = DeadlineAfter(pull.remaining, now);
  if (!Admit(from, pull, deadline, now, out)) return;
  ++counters_.pulls;
  if (Status status = CheckPull(from, pull); !status.ok()) {
    ++counters_.refused;
    out.send.push_back(
        {.to = from,
         .message = PullRefused{.request = pull.request, .map_version = map_.version, .status = std::move(status)}});
    return;
  }
  if (!AllMine(pull.keys)) {
    out.send.push_back(
        {.to = from, .message = Moved{.map_version = map_.version, .request = pull.request, .sequence = {}}});
    return;
  }
  const NodeId origin = pull.origin;
  const bool settled_more = filter_.MergeAckedBelow(origin, pull.acked_below);
  Parked parked{.pull = std::move(pull), .deadline = deadline};
  if (OwnPushesContained(parked)) {
    Answer(parked.pull, out);
  } else {
    Park(std::move(parked), now, out);
  }
  if (settled_more) RetryParked(origin, out);
}

// What was decided stays decided, so the search goes on where it stopped.
bool ServerCore::OwnPushesContained(Parked& parked) const {
  const std::vector<After>& after = parked.pull.after;
  const NodeId origin = parked.pull.origin;
  const SequenceNumber acked_below = filter_.AckedBelow(origin);
  for (; parked.met < after.size(); ++parked.met) {
    const After& wanted = after[parked.met];
    if (wanted.sequence <= acked_below) continue;
    if (filter_.Find(origin, wanted.sequence, wanted.position) == DuplicateFilter::Decision::kOpen) return false;
  }
  return true;
}

void ServerCore::Answer(const Pull& pull, ServerOutputs& out) {
  const TableStore* store = Find(pull.table);
  counters_.pulled_keys += pull.keys.size();
  const size_t values = pull.keys.size() * store->spec().options.dim;
  std::shared_ptr<void> memory;
  if (options_.row_memory) memory = options_.row_memory(pull.origin, values * sizeof(float));
  if (memory == nullptr) memory = NewRowMemory(values * sizeof(float));
  Slice<float> rows = Slice<float>::FilledIn(std::move(memory), values,
                                             [&](std::span<float> to) { store->Pull(pull.keys.view(), to); });
  out.send.push_back(
      {.to = pull.origin,
       .message = PullReply{.request = pull.request, .map_version = map_.version, .rows = std::move(rows)}});
}

void ServerCore::Park(Parked parked, MonotonicTime now, ServerOutputs& out) {
  if (parked.deadline <= now) return;
  std::vector<Parked>& pulls = parked_[parked.pull.origin];
  const auto again =
      std::ranges::find(pulls, parked.pull.request, [](const Parked& other) { return other.pull.request; });
  if (again != pulls.end()) {
    *again = std::move(parked);
    return;
  }
  if (pulls.size() >= kParkedPullsPerOriginMax) {
    ++counters_.refused;
    out.send.push_back(
        {.to = parked.pull.origin,
         .message = PullRefused{.request = parked.pull.request,
                                .map_version = map_.version,
                                .status = Error(StatusCode::kResourceExhausted,
                                                std::to_string(kParkedPullsPerOriginMax) +
                                                    " pulls of this worker wait for its own pushes; wait for some")}});
    return;
  }
  ++counters_.parked_pulls;
  if (parked.deadline != kNever) next_deadline_ = std::min(next_deadline_, parked.deadline);
  pulls.push_back(std::move(parked));
}

void ServerCore::RetryParked(NodeId origin, ServerOutputs& out) {
  const auto it = parked_.find(origin);
  if (it == parked_.end()) return;
  std::erase_if(it->second, [&](Parked& parked) {
    if (!OwnPushesContained(parked)) return false;
    Answer(parked.pull, out);
    return true;
  });
  if (it->second.empty()) parked_.erase(it);
}

void ServerCore::DropOverdue(MonotonicTime now) {
  next_deadline_ = kNever;
  for (auto it = parked_.begin(); it != parked_.end();) {
    std::erase_if(it->second, [&](const Parked& parked) { return parked.deadline <= now; });
    for (const Parked& parked : it->second) next_deadline_ = std::min(next_deadline_, parked.deadline);
    it = it->second.empty() ? parked_.erase(it) : std::next(it);
  }
  std::erase_if(held_, [&](const Held& held) { return held.deadline <= now; });
  for (const Held& held : held_) next_deadline_ = std::min(next_deadline_, held.deadline);
}

}  // namespace attune::ps
