#include "ps/core/rows/row_operations.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include "ps/core/mutations.h"
#include "ps/core/rows/state/parts.h"

namespace attune::ps {

// --- where an operation goes

// All rows are here, or begin here.
template <typename Operation>
void RowOperations::Here(Operation&& operation, MonotonicTime now, RowOutputs& out) {
  if constexpr (std::is_same_v<Operation, Push>) {
    const NodeId origin = operation.origin;
    if (pushes_.Apply(std::forward<Operation>(operation), out)) pulls_.Retry(origin, out);
  } else if constexpr (std::is_same_v<Operation, Pull>) {
    pulls_.Take(std::forward<Operation>(operation), now, out);
  } else {
    installs_.Answer(operation, out);
  }
}

template <typename Operation>
void RowOperations::Dispatch(NodeId from, Operation&& operation, MonotonicTime now, RowOutputs& out) {
  const size_t count = operation.keys.size();
  size_t counted = count;  // of those that others ask for: only the home's load is reported
  if constexpr (std::is_same_v<Operation, InstallWanted>) {
    if (shards_.AllPlain(operation.keys)) return Here(std::forward<Operation>(operation), now, out);
  } else {
    counted = served_.CountPlain(shards_, operation.keys);
    if (counted == count) return Here(std::forward<Operation>(operation), now, out);
  }
  std::vector<uint64_t> present((count + 63) / 64, 0);
  if (const TableStore* store = tables_.Rows(operation.table); store != nullptr) {
    store->Contains(operation.keys.view(), present);
  }
  Groups<ShardStates::Place> groups;
  for (uint32_t i = 0; i < count; ++i) {
    const Key key = operation.keys[i];
    const uint32_t shard = node_.ShardOf(key);
    const Shard& known = node_.map().shards[shard];
    if (i >= counted && known.home == node_.self()) served_.Count(shard);
    const bool sent_by_home = operation.by_home && from != node_.self() &&
                              ((operation.map_version >= known.routing_since && from == known.home) ||
                               node_.Mutant(RowMutation::kOldForwardTrusted));
    const bool is_present = ((present[i / 64] >> (i % 64)) & 1) != 0;
    groups.Add(shards_.Find({operation.table, key}, shard, known.home, node_.self(), is_present, sent_by_home), i);
  }
  const auto whole = std::make_shared<const Message>(operation);
  for (const auto& [place, places] : groups) {
    if (place.what == ShardStates::Place::What::kWait) {
      node_.counters().waited += places.size();
      for (const uint32_t i : places) {
        waiting_.Add({operation.table, operation.keys[i]}, whole, from, i);
      }
      continue;
    }
    auto part = PartOf(operation, places);
    if (place.what == ShardStates::Place::What::kHere) {
      Here(std::move(part), now, out);
    } else if (place.what == ShardStates::Place::What::kQueue) {
      waiting_.Queue({.from = from, .message = std::move(part)});
    } else {
      ++node_.counters().forwarded;
      part.by_home = place.by_home;
      node_.Send(place.to, std::move(part), out);
    }
  }
}

// --- what has waited

std::vector<RowOperations::Queued> RowOperations::TakeAffected(bool recovery, std::span<const uint32_t> given_away) {
  std::vector<Queued> operations;
  if (recovery && !node_.Mutant(RowMutation::kWaitingOpsKeptAtRecovery)) operations = waiting_.TakeAll();
  served_.SetShards(node_.map().shard_count());
  if (recovery || !given_away.empty()) std::ranges::move(waiting_.TakeQueue(), std::back_inserter(operations));
  if (given_away.empty()) return operations;
  for (Pull& pull : pulls_.TakeElsewhere(given_away)) {
    operations.push_back({.from = node_.self(), .message = std::move(pull)});
  }
  return operations;
}

void RowOperations::Requeue(std::vector<Queued> operations, MonotonicTime now, RowOutputs& out) {
  for (Queued& queued : operations) {
    const bool is_known = queued.from == node_.self() || node_.IsMember(queued.from);
    const NodeId from = is_known ? queued.from : node_.self();
    std::visit(
        [&](auto&& operation) {
          if constexpr (requires { operation.by_home; }) operation.by_home = false;
          if constexpr (requires { On(from, std::forward<decltype(operation)>(operation), now, out); }) {
            On(from, std::forward<decltype(operation)>(operation), now, out);
          }
        },
        std::move(queued.message));
  }
}

void RowOperations::RunWaiting(TableId table, std::span<const Key> keys, MonotonicTime now, RowOutputs& out) {
  if (!waiting_.AnyForRows()) return;
  for (const auto& [message, places] : waiting_.TakeFor(table, keys)) {
    if (const auto* push = std::get_if<Push>(message.get())) {
      Here(PartOf(*push, places), now, out);
    } else if (const auto* pull = std::get_if<Pull>(message.get())) {
      Here(PartOf(*pull, places), now, out);
    } else if (const auto* wanted = std::get_if<InstallWanted>(message.get())) {
      Here(PartOf(*wanted, places), now, out);
    }
  }
}

// --- operations that arrive

void RowOperations::On(NodeId from, Push&& push, MonotonicTime now, RowOutputs& out) {
  ++node_.counters().pushes;
  if (!node_.IsMember(push.origin) && !node_.Mutant(RowMutation::kDeadOriginsPushAccepted)) return;
  const NodeId origin = push.origin;
  const bool settled_more = records_.filter().MergeAckedBelow(origin, push.acked_below);
  if (pushes_.Admit(push, out)) Dispatch(from, std::move(push), now, out);
  if (settled_more) pulls_.Retry(origin, out);
}

void RowOperations::On(NodeId from, Pull&& pull, MonotonicTime now, RowOutputs& out) {
  ++node_.counters().pulls;
  if (!node_.IsMember(pull.origin)) return;
  const NodeId origin = pull.origin;
  const bool settled_more = records_.filter().MergeAckedBelow(origin, pull.acked_below);
  if (pulls_.Admit(pull, out)) Dispatch(from, std::move(pull), now, out);
  if (settled_more) pulls_.Retry(origin, out);
}

void RowOperations::On(NodeId from, InstallWanted&& wanted, MonotonicTime now, RowOutputs& out) {
  Dispatch(from, std::move(wanted), now, out);
}

void RowOperations::On(NodeId from, Localize&& localize, MonotonicTime now, RowOutputs& out) {
  if (localize.keys.empty() || tables_.Rows(localize.table) == nullptr) return;
  Groups<ShardStates::Place> groups;
  for (uint32_t i = 0; i < localize.keys.size(); ++i) {
    const uint32_t shard = node_.ShardOf(localize.keys[i]);
    const NodeId home = node_.map().shards[shard].home;
    using enum ShardStates::Place::What;
    if (node_.Mutant(RowMutation::kOldHomeServesLocalize) && home != node_.self() &&
        shards_.directory().Contains({localize.table, localize.keys[i]})) {
      groups.Add({kHere, {}, false}, i);
    } else if (home != node_.self()) {
      groups.Add({kSend, home, false}, i);
    } else {
      groups.Add({shards_.IsActive(shard) ? kHere : kQueue, {}, false}, i);
    }
  }
  for (const auto& [place, places] : groups) {
    const Slice<Key> keys = PartOf(localize.keys, places);
    if (place.what == ShardStates::Place::What::kHere) {
      moves_.Move(localize.table, keys.view(), localize.to, now, out);
      continue;
    }
    Localize part{.map_version = {}, .table = localize.table, .to = localize.to, .keys = keys};
    if (place.what == ShardStates::Place::What::kSend) {
      node_.Send(place.to, std::move(part), out);
    } else {
      waiting_.Queue({.from = from, .message = std::move(part)});
    }
  }
}

void RowOperations::LearnSettled(NodeId origin, SequenceNumber acked_below, RowOutputs& out) {
  if (records_.filter().MergeAckedBelow(origin, acked_below)) pulls_.Retry(origin, out);
}

// The push was applied and recorded here, or where the row went; who has the row now asks the right backup.
void RowOperations::On(ReplicateRefused&& refused, MonotonicTime now, RowOutputs& out) {
  Replicate& replicate = refused.replicate;
  if (!node_.IsMember(replicate.origin)) {  // no caller waits, but the copy should have it
    return Dispatch(node_.self(),
                    InstallWanted{.map_version = node_.map().version, .table = replicate.table, .keys = replicate.keys},
                    now, out);
  }
  if (records_.filter().Covered(replicate.origin, replicate.sequence)) return;
  Push push{.origin = replicate.origin,
            .sequence = replicate.sequence,
            .table = replicate.table,
            .map_version = node_.map().version,
            .acked_below = replicate.acked_below};
  push.positions = std::move(replicate.positions);
  push.keys = std::move(replicate.keys);
  push.gradients = std::move(replicate.gradients);
  push.folds = std::move(replicate.folds);
  push.step = replicate.step;
  On(node_.self(), std::move(push), now, out);
}

}  // namespace attune::ps
