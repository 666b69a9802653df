// Pushes and pulls at any node: apply here, wait for the row, queue at a home that is not ready, or send on.
#include <algorithm>
#include <memory>
#include <utility>

#include "ps/core/rows/row_node.h"
#include "ps/core/rows/state/parts.h"

namespace attune::ps {

// --- where an operation goes

template <typename Operation>
void RowNode::Dispatch(NodeId from, Operation&& operation, MonotonicTime now, RowOutputs& out) {
  if (shards_.AllPlain(operation.keys)) return Here(std::move(operation), now, out);
  const size_t count = operation.keys.size();
  std::vector<uint64_t> present((count + 63) / 64, 0);
  if (const TableStore* store = tables_.Rows(operation.table); store != nullptr) {
    store->Contains(operation.keys.view(), present);
  }
  Groups<Place> groups;
  for (uint32_t i = 0; i < count; ++i) {
    const Key key = operation.keys[i];
    const uint32_t shard = node_.ShardOf(key);
    const Shard& known = node_.map().shards[shard];
    const bool sent_by_home = operation.by_home && from != node_.self() &&
                              ((operation.map_version >= known.routing_since && from == known.home) ||
                               node_.Mutant(RowMutation::kOldForwardTrusted));
    const bool is_present = ((present[i / 64] >> (i % 64)) & 1) != 0;
    groups.Add(shards_.Find({operation.table, key}, shard, known.home, node_.self(), is_present, sent_by_home), i);
  }
  const auto whole = std::make_shared<const Message>(operation);
  for (const auto& [place, places] : groups) {
    if (place.what == Place::What::kWait) {
      node_.counters().waited += places.size();
      for (const uint32_t i : places) {
        waiting_.Add({operation.table, operation.keys[i]}, whole, from, i);
      }
      continue;
    }
    auto part = PartOf(operation, places);
    if (place.what == Place::What::kHere) {
      Here(std::move(part), now, out);
    } else if (place.what == Place::What::kQueue) {
      waiting_.Queue({.from = from, .message = std::move(part)});
    } else {
      ++node_.counters().forwarded;
      part.by_home = place.by_home;
      node_.Send(place.to, std::move(part), out);
    }
  }
}

void RowNode::On(NodeId from, InstallWanted&& wanted, MonotonicTime now, RowOutputs& out) {
  Dispatch(from, std::move(wanted), now, out);
}

// What waited under an older map looks for its way again; whatever sent it is not trusted any more.
void RowNode::Requeue(std::vector<Queued> operations, MonotonicTime now, RowOutputs& out) {
  for (Queued& queued : operations) {
    std::visit(
        [&](auto&& operation) {
          if constexpr (requires { operation.by_home; }) operation.by_home = false;
          On(queued.from == node_.self() || node_.IsMember(queued.from) ? queued.from : node_.self(),
             std::move(operation), now, out);
        },
        std::move(queued.message));
  }
}

// Rows have arrived: what waited for them, in its order.
void RowNode::RunWaiting(TableId table, std::span<const Key> keys, MonotonicTime now, RowOutputs& out) {
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

// --- what is done here

void RowNode::On(NodeId from, Push&& push, MonotonicTime now, RowOutputs& out) {
  ++node_.counters().pushes;
  if (!node_.IsMember(push.origin) && !node_.Mutant(RowMutation::kDeadOriginsPushAccepted)) return;
  const NodeId origin = push.origin;
  const bool settled_more = records_.filter().MergeAckedBelow(origin, push.acked_below);
  if (pushes_.Admit(push, out)) Dispatch(from, std::move(push), now, out);
  if (settled_more) pulls_.Retry(origin, out);
}

void RowNode::Here(Push&& push, MonotonicTime, RowOutputs& out) {
  const NodeId origin = push.origin;
  if (pushes_.Apply(std::move(push), out)) pulls_.Retry(origin, out);
}

void RowNode::On(NodeId from, Pull&& pull, MonotonicTime now, RowOutputs& out) {
  ++node_.counters().pulls;
  if (!node_.IsMember(pull.origin)) return;
  const NodeId origin = pull.origin;
  const bool settled_more = records_.filter().MergeAckedBelow(origin, pull.acked_below);
  if (pulls_.Admit(pull, out)) Dispatch(from, std::move(pull), now, out);
  if (settled_more) pulls_.Retry(origin, out);
}

void RowNode::Here(Pull&& pull, MonotonicTime now, RowOutputs& out) { pulls_.Take(std::move(pull), now, out); }

void RowNode::Here(InstallWanted&& wanted, MonotonicTime, RowOutputs& out) { installs_.Answer(wanted, out); }

// --- copies

void RowNode::On(NodeId from, Replicate&& replicate, MonotonicTime, RowOutputs& out) {
  if (!copies_.Admit(from, replicate, out)) return;
  if (node_.IsMember(replicate.origin)) LearnSettled(replicate.origin, replicate.acked_below, out);
  copies_.Take(from, std::move(replicate), out);
}

// The push was applied and recorded here, or where the row went; who has the row now asks the right backup.
void RowNode::On(NodeId, ReplicateRefused&& refused, MonotonicTime now, RowOutputs& out) {
  Replicate& replicate = refused.replicate;
  if (!node_.IsMember(replicate.origin)) {  // no caller waits, but the copy should have it
    return On(node_.self(),
              InstallWanted{.map_version = node_.map().version, .table = replicate.table, .keys = replicate.keys}, now,
              out);
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
  push.step = replicate.step;
  On(node_.self(), std::move(push), now, out);
}

void RowNode::On(NodeId from, Install&& install, MonotonicTime, RowOutputs& out) { copies_.Take(from, install, out); }

void RowNode::On(NodeId from, InstallAck&& ack, MonotonicTime, RowOutputs& out) {
  const auto answer = installs_.On(from, ack);
  if (!answer) return;
  Answered(answer->withheld, out);
  installs_.Pump(out);
  CheckJoins(out);
}

void RowNode::On(NodeId from, JoinMarker&& marker, MonotonicTime, RowOutputs& out) {
  installs_.On(from, marker);
  if (marker.join_id != MapVersion()) return CheckJoins(out);
  out.report = true;
}

void RowNode::CheckJoins(RowOutputs& out) {
  if (installs_.UpdateDone(moves_.rows_to_come() > 0, moves_.orders())) out.report = true;
}

// One of the answers has come, or will not come any more, that the HandoverAck of this number may wait for.
void RowNode::Answered(std::optional<uint64_t> withheld, RowOutputs& out) {
  if (!withheld) return;
  if (const auto ack = withheld_.Answered(*withheld)) node_.Send(ack->to, ack->ack, out);
}

}  // namespace attune::ps
