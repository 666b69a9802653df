#include "ps/core/rows/row_copies.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ps/core/protocol/limits.h"
#include "ps/core/rows/state/parts.h"

namespace attune::ps {
namespace {

using Held = DuplicateFilter::Held;
using Decision = DuplicateFilter::Decision;

}  // namespace

bool RowCopies::TakesReplicate(const Shard& shard, bool relayed) const {
  if (shard.backup == node_.self()) return true;
  if (shard.next_backup != node_.self()) return false;
  return relayed || shard.backup == NodeId() || node_.Mutant(RowMutation::kDualWrite) ||
         node_.Mutant(RowMutation::kUnrelayedReplicateTaken);
}

bool RowCopies::Admit(NodeId from, const Replicate& replicate, RowOutputs& out) {
  const size_t count = replicate.keys.size();
  const TableStore* rows = tables_.Rows(replicate.table);
  const bool bare = replicate.probe && replicate.gradients.empty();
  if (rows == nullptr || bare) return true;
  const size_t width = replicate.folds.empty() ? rows->spec().options.dim : rows->fold_floats();
  if (replicate.gradients.size() == count * width) return true;
  node_.Reject(from, "Replicate",
               std::to_string(replicate.gradients.size()) + " values for " + std::to_string(count) +
                   " keys of table \"" + rows->spec().name + "\", which has " + std::to_string(width) + " for each",
               out);
  return false;
}

void RowCopies::Take(NodeId from, Replicate&& replicate, RowOutputs& out) {
  const size_t count = replicate.keys.size();
  const TableStore* rows = tables_.Rows(replicate.table);
  if (rows == nullptr) return;
  const auto whole = std::make_shared<const Replicate>(std::move(replicate));
  std::vector<uint32_t> refused, owned, mine;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t shard = node_.ShardOf(whole->keys[i]);
    if (!TakesReplicate(node_.map().shards[shard], whole->relayed)) {
      refused.push_back(i);
    } else if (shards_[shard].foreign > 0 && rows->Contains(whole->keys[i])) {
      owned.push_back(i);  // a next backup that has not given the row back: the row contains the push
    } else {
      mine.push_back(i);
    }
  }
  if (!refused.empty() && whole->ack_wanted) {
    if (node_.Mutant(RowMutation::kRetiredBackupAcknowledges)) {
      node_.Send(
          whole->origin,
          PushAck{.sequence = whole->sequence, .map_version = {}, .positions = PartOf(whole->positions, refused)}, out);
    } else if (!node_.Mutant(RowMutation::kNoReplicateRefused)) {
      node_.Send(from, ReplicateRefused{.map_version = {}, .replicate = PartOf(*whole, refused)}, out);
    }
  }
  if (!owned.empty()) Finish(*whole, owned, out);
  if (!mine.empty()) TakeReplicate(from, whole, mine, false, out);
}

RowCopies::Verdict RowCopies::Judge(const Replicate& replicate, uint32_t index, const RowVersion* copy) const {
  const RowVersion version = replicate.versions[index];
  const uint32_t pushes = replicate.folds.empty() ? 1 : replicate.folds[index].pushes;
  if (copy == nullptr) {  // the copy of a row that no worker has pushed to
    const uint16_t begins = shards_[node_.ShardOf(replicate.keys[index])].absent_era;
    const bool first = version.counter() == pushes && !replicate.probe &&
                       (version.era() >= begins || node_.Mutant(RowMutation::kNoEraFenceAtBackup));
    return first || (node_.Mutant(RowMutation::kBackupIgnoresGap) && !replicate.probe) ? Verdict::kApply
                                                                                       : Verdict::kGap;
  }
  if (version.era() < copy->era()) {
    if (!node_.Mutant(RowMutation::kNoEraFenceAtBackup)) return Verdict::kDrop;  // its origin issues it again
    return version.counter() <= copy->counter() ? Verdict::kFinish : replicate.probe ? Verdict::kGap : Verdict::kApply;
  }
  if (version <= *copy) return Verdict::kFinish;
  if (replicate.probe) return Verdict::kGap;
  return version == copy->After(pushes) || node_.Mutant(RowMutation::kBackupIgnoresGap) ? Verdict::kApply
                                                                                        : Verdict::kGap;
}

// Who is no member issues nothing again.
void RowCopies::RecordCopies(const Replicate& part) {
  if (!node_.IsMember(part.origin)) return;
  records_.filter().Record(part.origin, part.sequence, part.table, part.positions, part.keys.view(), Decision::kApplied,
                           Held::kCopy);
}

// Without memory a backup is none. Gradients that the table refuses no owner has applied.
void RowCopies::CannotKeepCopies(const Replicate& replicate, const Status& status, RowOutputs& out) {
  if (status.code() == StatusCode::kInvalidArgument) {
    return node_.Reject(replicate.owner, "Replicate", std::string(attune::Message(status)), out);
  }
  node_.Lose(Annotate(status, "keeping copies of another server's rows"), out);
}

// Nearly always every copy is just one push behind: then one look at the store is enough. False: nothing was done.
bool RowCopies::TakeInOrder(TableStore& copies, const Replicate& replicate, std::span<const uint32_t> places,
                            RowOutputs& out) {
  if (replicate.probe) return false;
  const Replicate part = PartOf(replicate, places);
  const auto pushed = copies.PushIfPresent(
      part.keys.view(), part.gradients.view(),
      {.step = part.step, .versions = {}, .expected = part.versions.view(), .folds = part.folds, .is_checked = true});
  if (!pushed) return false;
  if (!pushed->ok()) {
    CannotKeepCopies(replicate, pushed->status(), out);
    return true;
  }
  RecordCopies(part);
  Finish(replicate, places, out);
  if (!held_.empty()) RetryHeld(part.table, part.keys.view(), out);
  return true;
}

// `places` ascending. `again`: they were held before.
void RowCopies::TakeReplicate(NodeId from, const std::shared_ptr<const Replicate>& replicate,
                              std::span<const uint32_t> places, bool again, RowOutputs& out) {
  TableStore& copies = *tables_.Copies(replicate->table);
  if (TakeInOrder(copies, *replicate, places, out)) return;
  const Slice<Key> keys = PartOf(replicate->keys, places);
  std::vector<RowVersion> found(keys.size());
  std::vector<bool> present(keys.size());
  size_t at = 0;
  copies.VisitRows(keys.view(), [&](const RowView& row) {
    while (keys[at] != row.key) ++at;
    found[at] = row.version;
    present[at] = true;
  });
  std::vector<uint32_t> apply, finish, gap;
  for (size_t i = 0; i < places.size(); ++i) {
    switch (Judge(*replicate, places[i], present[i] ? &found[i] : nullptr)) {
      case Verdict::kDrop:
        break;
      case Verdict::kFinish:
        finish.push_back(places[i]);
        break;
      case Verdict::kApply:
        apply.push_back(places[i]);
        finish.push_back(places[i]);
        break;
      case Verdict::kGap:
        gap.push_back(places[i]);
        break;
    }
  }
  if (!apply.empty()) {
    const Replicate part = PartOf(*replicate, apply);
    Status status;
    for (size_t i = 0; i < apply.size() && status.ok() && node_.map().recoveries > 0; ++i) {  // those that begin now
      const uint32_t pushes = part.folds.empty() ? 1 : part.folds[i].pushes;
      if (part.versions[i].counter() == pushes && part.versions[i].era() > 0) {
        status = copies.CreateRows(part.keys.Part(i, 1).view(), RowVersion(part.versions[i].era(), 0));
      }
    }
    if (status.ok()) {
      status = copies.Push(part.keys.view(), part.gradients.view(), {.step = part.step, .folds = part.folds}).status();
    }
    if (!status.ok()) return CannotKeepCopies(*replicate, status, out);
    if (node_.Mutant(RowMutation::kBackupIgnoresGap)) {  // the copy takes the version over all the same
      RowBatch batch = tables_.Gather(copies, part.table, part.keys.view());
      batch.versions = part.versions;
      node_.Lose(RowTables::Insert(copies, batch, {}), out);
    }
    RecordCopies(part);
  }
  if (!finish.empty()) Finish(*replicate, finish, out);
  if (!gap.empty()) {
    for (const uint32_t i : gap) {
      held_.Add({replicate->table, replicate->keys[i]}, {.replicate = replicate, .from = from, .index = i});
    }
    if (!again && !node_.Mutant(RowMutation::kNoInstallWanted)) {
      node_.Send(
          from, InstallWanted{.map_version = {}, .table = replicate->table, .keys = PartOf(replicate->keys, gap)}, out);
    }
  }
  if (!apply.empty() && !held_.empty()) RetryHeld(replicate->table, PartOf(replicate->keys, apply).view(), out);
}

// The copies contain the push: pass it on to the next backup, whose acknowledgement then counts, or acknowledge.
void RowCopies::Finish(const Replicate& replicate, std::span<const uint32_t> places, RowOutputs& out) {
  Groups<NodeId> groups;  // 0: acknowledge
  for (const uint32_t i : places) {
    const Shard& shard = node_.ShardAt(replicate.keys[i]);
    const bool relay =
        shard.backup == node_.self() && shard.next_backup != NodeId() && !node_.Mutant(RowMutation::kDualWrite);
    groups.Add(relay ? shard.next_backup : NodeId(), i);
  }
  for (const auto& [next, group] : groups) {
    if (next != NodeId()) {
      Replicate part = PartOf(replicate, group);
      part.relayed = true;
      node_.Send(next, std::move(part), out);
    } else if (replicate.ack_wanted && node_.IsMember(replicate.origin)) {
      node_.Send(replicate.origin,
                 PushAck{.sequence = replicate.sequence,
                         .map_version = {},
                         .positions = PartOf(replicate.positions, group),
                         .owner = replicate.owner,
                         .staleness = group.size() == replicate.keys.size() ? replicate.staleness : kNotMeasured},
                 out);
    }
  }
}

void RowCopies::RetryHeld(TableId table, std::span<const Key> keys, RowOutputs& out) {
  for (const Key key : keys) {
    for (bool progress = true; progress;) {  // one may make the next one fit
      const std::vector<HeldReplicates::Held> held = held_.Take({table, key});
      for (const HeldReplicates::Held& entry : held) {
        const uint32_t place[] = {entry.index};
        TakeReplicate(entry.from, entry.replicate, place, true, out);
      }
      const size_t left = held_.CountOf({table, key});
      progress = left > 0 && left < held.size();
    }
  }
}

void RowCopies::Take(NodeId from, const Install& install, RowOutputs& out) {
  const TableId table = install.rows.table;
  TableStore* copies = tables_.Copies(table);
  // Of a table that not all servers have, no node has rows to copy.
  if (copies == nullptr) return records_.Learn(install.records, node_.map());
  if (const auto why = tables_.WhyUnfit(install.rows)) return node_.Reject(from, "Install", *why, out);
  records_.Learn(install.records, node_.map());
  const Slice<Key>& keys = install.rows.keys;
  std::vector<uint8_t> newer(keys.size(), 1);
  size_t at = 0;
  copies->VisitRows(keys.view(), [&](const RowView& row) {
    while (keys[at] != row.key) ++at;
    if (install.rows.versions[at] < row.version && !node_.Mutant(RowMutation::kInstallOverwritesNewer)) newer[at] = 0;
  });
  std::vector<uint32_t> take;
  std::vector<Key> taken;
  for (uint32_t i = 0; i < keys.size(); ++i) {
    const Shard& shard = node_.ShardAt(keys[i]);
    if (newer[i] == 0 || (shard.backup != node_.self() && shard.next_backup != node_.self())) continue;
    take.push_back(i);
    taken.push_back(keys[i]);
  }
  if (!take.empty()) {
    node_.Lose(RowTables::Insert(*copies, install.rows, take), out);
    // Its records replace those of the older copy.
    std::vector<FilterRecord> forgotten;
    records_.filter().Collect(table, taken, Held::kCopy, true, forgotten);
    std::vector<FilterRecord> records;
    for (const FilterRecord& record : install.records.records) {
      if (std::ranges::binary_search(take, record.key_index)) records.push_back(record);
    }
    records_.Add(table, keys.view(), records, Held::kCopy, node_.map());
  }
  if (!held_.empty()) RetryHeld(table, keys.view(), out);
  if (install.install != 0) node_.Send(from, InstallAck{.map_version = {}, .install = install.install}, out);
}

void RowCopies::Drop(std::span<const uint32_t> shards, RowOutputs& out) {
  if (shards.empty()) return;
  std::vector<bool> dropped(shards_.size());
  for (const uint32_t shard : shards) dropped[shard] = true;
  std::map<TableId, std::vector<Key>> erase;
  for (const TableKey key : RowTables::KeysOf(tables_.copies(), shards, node_.map().shard_count()))
    erase[key.table].push_back(key.key);
  for (const auto& [table, keys] : erase) tables_.Copies(table)->Erase(keys);
  records_.filter().DropIf(Held::kCopy, [&](TableId, Key key) { return dropped[node_.ShardOf(key)]; });
  held_.EraseRowsIf([&](TableKey row) { return dropped[node_.ShardOf(row.key)]; },
                    [&](const HeldReplicates::Held& held) {
                      if (!held.replicate->ack_wanted || node_.Mutant(RowMutation::kNoReplicateRefused)) return;
                      const uint32_t place[] = {held.index};
                      node_.Send(held.from,
                                 ReplicateRefused{.map_version = {}, .replicate = PartOf(*held.replicate, place)}, out);
                    });
}

// --- recoveries

void RowCopies::AskAgain(RowOutputs& out) {
  std::map<std::pair<NodeId, TableId>, std::vector<Key>> ask_again;
  held_.ForEachRow([&](TableKey row) { ask_again[{node_.ShardAt(row.key).home, row.table}].push_back(row.key); });
  for (auto& [asked, keys] : ask_again) {
    const auto [home, table] = asked;
    if (home != node_.self())
      node_.Send(home, InstallWanted{.map_version = {}, .table = table, .keys = std::move(keys)}, out);
  }
}

void RowCopies::Promote(uint32_t shard, const std::function<bool(TableKey)>& is_owned, RowOutputs& out) {
  const uint32_t only[] = {shard};
  std::map<TableId, std::pair<std::vector<Key>, std::vector<Key>>> tables;  // promoted, all
  for (const TableKey key : RowTables::KeysOf(tables_.copies(), only, node_.map().shard_count())) {
    auto& [promoted, all] = tables[key.table];
    all.push_back(key.key);
    const bool owned = is_owned(key) && !node_.Mutant(RowMutation::kStaleCopyPromoted);
    if (!owned && !tables_.Rows(key.table)->Contains(key.key)) promoted.push_back(key.key);
  }
  for (const auto& [table, keys] : tables) {
    const auto& [promoted, all] = keys;
    TableStore& copies = *tables_.Copies(table);
    if (!node_.Mutant(RowMutation::kEraNotRaisedOnPromotion)) copies.RaiseEra(promoted, node_.map().recoveries);
    for (size_t at = 0; at < promoted.size(); at += node_.options().rows_per_message_max) {
      const std::span<const Key> part =
          std::span(promoted).subspan(at, std::min(node_.options().rows_per_message_max, promoted.size() - at));
      RowBatch batch = tables_.Gather(copies, table, part);
      batch.move_numbers = std::vector<uint16_t>(batch.keys.size(), 0);
      node_.Lose(RowTables::Insert(*tables_.Rows(table), batch, {}), out);
      std::vector<FilterRecord> records;
      records_.filter().Collect(table, batch.keys.view(), Held::kCopy, true, records);
      if (!node_.Mutant(RowMutation::kCopiesFilterForgotten))
        records_.filter().Add(table, batch.keys.view(), records, Held::kRow);
      if (node_.Mutant(RowMutation::kStaleCopyPromoted)) {
        for (const Key key : part) shards_.EraseEntry({table, key});
      }
      copies.Erase(part);
    }
    copies.Erase(all);
  }
  records_.filter().DropIf(Held::kCopy, [&](TableId, Key key) { return node_.ShardOf(key) == shard; });
  held_.EraseIf([&](TableKey row, const HeldReplicates::Held&) { return node_.ShardOf(row.key) == shard; });
}

void RowCopies::Serve(NodeId from, const FetchRows& fetch, RowOutputs& out) {
  if (fetch.recovered_at != node_.map().recovered_at) return;
  if (fetch.all_but) return ServeAllBut(from, fetch, out);
  if (TableStore* copies = tables_.Copies(fetch.table); !fetch.keys.empty() && copies != nullptr) {
    // A row that no worker has pushed to has a copy as well from here on: its era fences what a removed owner sent.
    if (Status status = copies->CreateRows(fetch.keys.view(), RowVersion(node_.map().recoveries, 0)); !status.ok()) {
      return node_.Lose(std::move(status), out);
    }
    SendFetched(from, fetch.table, fetch.keys.view(), out);
  }
  if (fetch.last) {
    node_.Send(
        from,
        FetchedRows{
            .map_version = {}, .recovered_at = node_.map().recovered_at, .rows = {}, .records = {}, .last = true},
        out);
  }
}

void RowCopies::ServeAllBut(NodeId from, const FetchRows& fetch, RowOutputs& out) {
  KeysByTable& request = fetch_requests_[from];
  std::vector<Key>& keys = request[fetch.table];
  keys.insert(keys.end(), fetch.keys.begin(), fetch.keys.end());
  if (!fetch.last) return;
  KeyMap<uint8_t> known;
  for (const auto& [table, list] : request) {
    for (const Key key : list) known[{table, key}] = 1;
  }
  fetch_requests_.erase(from);
  std::vector<uint32_t> shards;
  for (const ShardId shard : fetch.shards) {
    if (shard.value() < shards_.size() && node_.map().shards[shard.value()].backup == node_.self())
      shards.push_back(shard.value());
  }
  std::map<TableId, std::vector<Key>> wanted;
  for (const TableKey key : RowTables::KeysOf(tables_.copies(), shards, node_.map().shard_count())) {
    if (!known.Contains(key)) wanted[key.table].push_back(key.key);
  }
  for (const auto& [table, list] : wanted) SendFetched(from, table, list, out);
  std::vector<bool> asked(shards_.size());
  for (const uint32_t shard : shards) asked[shard] = true;
  // Those are of removed owners, and of rows that have no copy.
  held_.EraseIf([&](TableKey row, const HeldReplicates::Held& held) {
    return asked[node_.ShardOf(row.key)] && !known.Contains(row) &&
           held.replicate->versions[held.index].era() < node_.map().recoveries;
  });
  node_.Send(from,
             FetchedRows{.map_version = {},
                         .recovered_at = node_.map().recovered_at,
                         .rows = {},
                         .records = {},
                         .all_but = true,
                         .last = true},
             out);
}

void RowCopies::SendFetched(NodeId to, TableId table, std::span<const Key> keys, RowOutputs& out) {
  TableStore& copies = *tables_.Copies(table);
  const size_t chunk = tables_.RowsPerMessage(copies);
  for (size_t at = 0; at < keys.size(); at += chunk) {
    const std::span<const Key> part = keys.subspan(at, std::min(chunk, keys.size() - at));
    if (!node_.Mutant(RowMutation::kNoEraFenceAtBackup)) copies.RaiseEra(part, node_.map().recoveries);
    RetryHeld(table, part, out);  // what a removed owner sent is dropped now
    FetchedRows message{.map_version = {}, .recovered_at = node_.map().recovered_at, .rows = {}, .records = {}};
    message.rows = tables_.Gather(copies, table, part);
    if (message.rows.keys.empty()) continue;
    message.records = records_.Of(table, message.rows.keys.view(), Held::kCopy, false, to);
    node_.Send(to, std::move(message), out);
  }
}

}  // namespace attune::ps
