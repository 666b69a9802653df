#include "ps/core/rows/row_pushes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ps/core/protocol/limits.h"
#include "ps/core/rows/state/parts.h"

namespace attune::ps {
namespace {

using Held = DuplicateFilter::Held;
using Decision = DuplicateFilter::Decision;

// What the row had got between the pull that the gradient comes from and this push, which is in it now.
uint64_t StalenessOf(const Push& push, std::span<const RowVersion> versions) {
  if (push.seen == RowVersion() || push.seen_index >= versions.size()) return kNotMeasured;
  const RowVersion now = versions[push.seen_index];
  if (now.era() != push.seen.era() || now.counter() <= push.seen.counter()) return kNotMeasured;
  return now.counter() - push.seen.counter() - 1;
}

}  // namespace

NodeId RowPushes::GuardOf(const Shard& shard) const {
  if (shard.backup != NodeId()) return shard.backup;
  if (node_.Mutant(RowMutation::kDualWrite)) return {};
  return shard.next_backup != node_.self() ? shard.next_backup : NodeId();
}

Status RowPushes::Check(const Push& push) const {
  if (push.sequence.value() > records_.filter().AckedBelow(push.origin).value() + kPushWindowMax) {
    return Error(StatusCode::kResourceExhausted, "more than " + std::to_string(kPushWindowMax) +
                                                     " pushes of one worker are in flight; wait for acknowledgements");
  }
  const TableStore* store = tables_.Rows(push.table);
  if (store == nullptr) return OkStatus();  // may be sent on
  const size_t width = push.folds.empty() ? store->spec().options.dim : store->fold_floats();
  if (push.gradients.size() != push.keys.size() * width) {
    return Error(StatusCode::kInvalidArgument, "table \"" + store->spec().name + "\" has " +
                                                   (push.folds.empty() ? "dim " : "folds of ") + std::to_string(width) +
                                                   ": " + std::to_string(push.keys.size()) + " keys need " +
                                                   std::to_string(push.keys.size() * width) + " values, " +
                                                   std::to_string(push.gradients.size()) + " were sent");
  }
  return OkStatus();
}

bool RowPushes::Admit(const Push& push, RowOutputs& out) {
  if (records_.filter().Covered(push.origin, push.sequence) && !node_.Mutant(RowMutation::kNoDuplicateFilter)) {
    ++node_.counters().duplicate_pushes;  // the origin knows already
    return false;
  }
  Status status = Check(push);
  if (status.ok()) return true;
  Refuse(push, std::move(status), out);
  return false;
}

void RowPushes::Refuse(const Push& push, Status status, RowOutputs& out) {
  ++node_.counters().refused;
  node_.Send(
      push.origin,
      PushRefused{
          .sequence = push.sequence, .map_version = {}, .positions = push.positions, .status = std::move(status)},
      out);
}

bool RowPushes::Apply(Push&& push, RowOutputs& out) {
  const NodeId origin = push.origin;
  if (!node_.IsMember(origin) && !node_.Mutant(RowMutation::kDeadOriginsPushAccepted)) return false;
  if (records_.filter().Covered(origin, push.sequence) && !node_.Mutant(RowMutation::kNoDuplicateFilter)) {
    ++node_.counters().duplicate_pushes;
    return false;
  }
  if (tables_.Rows(push.table) == nullptr) {
    Refuse(push, RowTables::NotInstalled(push.table), out);
    return false;
  }
#ifdef ATTUNE_DELIBERATE_MISTAKES
  if (node_.Mutant(RowMutation::kAcknowledgeBeforeApplying)) {
    AcknowledgeThenApply(std::move(push), out);
    return false;
  }
#endif
  if (node_.Mutant(RowMutation::kHighWaterMarkFilter)) {
    std::vector<FilterRecord> records;
    records_.filter().Collect(push.table, push.keys.view(), Held::kRow, false, records);
    for (const FilterRecord& record : records) {
      if (record.origin != origin || record.sequence <= push.sequence) continue;
      Duplicate(push, out);
      return false;
    }
  }
  if (!records_.filter().HasRecord(origin, push.sequence) || node_.Mutant(RowMutation::kNoDuplicateFilter)) {
    ApplyNew(push, out);
    return true;
  }
  ++node_.counters().duplicate_pushes;
  if (node_.Mutant(RowMutation::kFilterPerMessage)) {
    Duplicate(push, out);
    return false;
  }
  // Some keys of this push were decided before: another part of the same push, or an earlier copy cut in other pieces.
  Groups<Decision> groups;
  for (uint32_t i = 0; i < push.keys.size(); ++i) {
    groups.Add(records_.filter().Find(origin, push.sequence, push.positions.At(i)), i);
  }
  for (const auto& [decision, places] : groups) {
    const Push part = PartOf(push, places);
    if (decision == Decision::kOpen) {
      ApplyNew(part, out);
    } else if (decision == Decision::kApplied) {
      Duplicate(part, out);
    } else {
      Refuse(part, Error(StatusCode::kFailedPrecondition, "these keys were refused when they were sent first"), out);
    }
  }
  return true;
}

#ifdef ATTUNE_DELIBERATE_MISTAKES
// A deliberate mistake (see RowMutation): what is acknowledged lies in memory until the next push and may be lost.
void RowPushes::AcknowledgeThenApply(Push&& push, RowOutputs& out) {
  RowOutputs ignored;
  for (const Push& early : acknowledged_early_) {
    if (!records_.filter().HasRecord(early.origin, early.sequence)) ApplyNew(early, ignored);
  }
  acknowledged_early_.clear();
  node_.Send(push.origin,
             PushAck{.sequence = push.sequence, .map_version = {}, .positions = push.positions, .owner = node_.self()},
             out);
  acknowledged_early_.push_back(std::move(push));
}
#endif

void RowPushes::ApplyNew(const Push& push, RowOutputs& out) {
  TableStore& store = *tables_.Rows(push.table);
  versions_.resize(push.keys.size());
  Status status = tables_.CheckRoom(push.table, push.keys.view(), shards_.directory().InTable(push.table));
  if (status.ok() && node_.map().recoveries > 0) {  // rows that begin now begin in this era
    status = store.CreateRows(push.keys.view(), RowVersion(node_.map().recoveries, 0));
  }
  if (status.ok()) {
    status = store
                 .Push(push.keys.view(), push.gradients.view(),
                       {.step = push.step, .versions = versions_, .folds = push.folds})
                 .status();
  }
  records_.filter().Record(push.origin, push.sequence, push.table, push.positions, push.keys.view(),
                           status.ok() ? Decision::kApplied : Decision::kRefused);
  if (!status.ok()) return Refuse(push, std::move(status), out);
  node_.counters().pushed_keys += push.keys.size();
  replicas_.Changed(push);
  AcknowledgeOrReplicate(push, versions_, false, out);
}

// The rows contain the push: the origin may know once their backup has it too.
void RowPushes::Duplicate(const Push& push, RowOutputs& out) {
  if (!shards_.any_guard() || node_.Mutant(RowMutation::kDuplicateAcknowledgedWithoutProbe)) {
    return node_.Send(
        push.origin,
        PushAck{.sequence = push.sequence, .map_version = {}, .positions = push.positions, .owner = node_.self()}, out);
  }
  std::vector<RowVersion> versions(push.keys.size());
  RowTables::ReadVersions(*tables_.Rows(push.table), push.keys.view(), versions);
  AcknowledgeOrReplicate(push, versions, true, out);
}

void RowPushes::AcknowledgeOrReplicate(const Push& push, std::span<const RowVersion> versions, bool probe,
                                       RowOutputs& out) {
  const uint64_t staleness = probe ? kNotMeasured : StalenessOf(push, versions);
  const auto acknowledge = [&](Positions positions, uint64_t measured) {
    node_.Send(push.origin,
               PushAck{.sequence = push.sequence,
                       .map_version = {},
                       .positions = std::move(positions),
                       .owner = node_.self(),
                       .staleness = measured},
               out);
  };
  if (!shards_.any_guard()) return acknowledge(push.positions, staleness);
  Groups<NodeId> groups;
  for (uint32_t i = 0; i < push.keys.size(); ++i) groups.Add(GuardOf(node_.ShardAt(push.keys[i])), i);
  const bool early = node_.Mutant(RowMutation::kAcknowledgeBeforeBackup);
  for (const auto& [guard, places] : groups) {
    const uint64_t measured =
        std::ranges::binary_search(places, push.seen_index) ? staleness : kNotMeasured;  // in one of the answers
    if (guard == NodeId() || early) acknowledge(PartOf(push.positions, places), measured);
    const auto replicate = [&](NodeId to, bool ack_wanted) {
      Replicate message{.origin = push.origin,
                        .sequence = push.sequence,
                        .table = push.table,
                        .map_version = {},
                        .acked_below = records_.filter().AckedBelow(push.origin)};
      message.positions = PartOf(push.positions, places);
      message.keys = PartOf(push.keys, places);
      message.gradients = PartOf(push.gradients, places, push.gradients.size() / push.keys.size());
      if (!push.folds.empty()) {
        for (const uint32_t place : places) message.folds.push_back(push.folds[place]);
      }
      message.versions = Slice<RowVersion>::Filled(places.size(), [&](std::span<RowVersion> part) {
        for (size_t i = 0; i < places.size(); ++i) part[i] = versions[places[i]];
      });
      message.step = push.step;
      message.owner = node_.self();
      message.ack_wanted = ack_wanted;
      message.probe = probe;
      message.staleness = measured;
      node_.counters().replicated_keys += places.size();
      node_.Send(to, std::move(message), out);
    };
    if (guard != NodeId()) replicate(guard, !early);
    if (node_.Mutant(RowMutation::kDualWrite)) {
      const NodeId next = node_.ShardAt(push.keys[places.front()]).next_backup;
      if (next != NodeId() && next != node_.self() && next != guard) replicate(next, false);
    }
  }
}

}  // namespace attune::ps
