#include "ps/core/rows/row_node.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "ps/core/link/link.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

// --- tables

TableStore* RowNode::Rows(TableId table) const {
  const size_t index = size_t{table.value()} - 1;
  return index < rows_.size() ? rows_[index].get() : nullptr;
}

TableStore* RowNode::Copies(TableId table) const {
  const size_t index = size_t{table.value()} - 1;
  return index < copies_.size() ? copies_[index].get() : nullptr;
}

// With their state, which may be as long as two rows.
size_t RowNode::RowsPerMessage(const TableStore& store) const {
  const size_t floats = size_t{store.spec().options.dim} * 3;
  return std::max<size_t>(1, std::min(options_.rows_per_message_max, options_.floats_per_message_max / floats));
}

Status RowNode::InstallTable(TableId table, const TableSpec& spec, LoadedTable loaded) {
  if (table == TableId() || table.value() > kTablesMax) {
    return Error(StatusCode::kResourceExhausted,
                 "table id " + std::to_string(table.value()) + " is outside 1 .. " + std::to_string(kTablesMax));
  }
  if (Rows(table) != nullptr) return OkStatus();
  if (loaded.rows == nullptr) {
    ASSIGN_OR_RETURN(loaded.rows, options_.create_store(spec));
  }
  if (loaded.copies == nullptr) {
    TableSpec unlimited = spec;
    unlimited.options.rows_max = 0;
    ASSIGN_OR_RETURN(loaded.copies,
                     (options_.create_copies ? options_.create_copies : options_.create_store)(unlimited));
  }
  const size_t size = std::max<size_t>(rows_.size(), table.value());
  rows_.resize(size);
  copies_.resize(size);
  if (snapshot_.open && !options_.snapshots_go_home) {  // rows may arrive in it
    RETURN_IF_ERROR(loaded.rows->BeginSnapshot());
  }
  rows_[table.value() - 1] = std::move(loaded.rows);
  copies_[table.value() - 1] = std::move(loaded.copies);
  return OkStatus();
}

bool RowNode::OwnsNow(TableId table, Key key) const {
  const TableStore* store = Rows(table);
  if (store == nullptr || shards_.empty()) return false;
  if (plain_[ShardOf(key)] != 0) return true;
  const ShardState& state = shards_[ShardOf(key)];
  if (state.home == HomeState::kActive && !directory_.Contains({table, key})) return true;
  return store->Contains(key);
}

std::vector<TableKey> RowNode::KeysOfShards(const std::vector<std::unique_ptr<TableStore>>& tables,
                                            std::span<const uint32_t> shards) const {
  std::vector<TableKey> keys;
  for (size_t i = 0; i < tables.size(); ++i) {
    if (tables[i] == nullptr || tables[i]->row_count() == 0) continue;
    const TableId table(static_cast<uint32_t>(i + 1));
    for (const uint32_t shard : shards) {
      tables[i]->ForEachKey(HashRange::OfShard(shard, map_.shard_count()), [&](Key key) {
        keys.push_back({table, key});
      });
    }
  }
  return keys;
}

// --- messages

void RowNode::Send(NodeId to, Message message, RowOutputs& out) {
  SetMapVersion(message, map_.version);
  if (to != self_) {
    if (IsMember(to)) out.send.push_back({.to = to, .message = std::move(message)});
    return;
  }
  const bool answer = std::holds_alternative<PushAck>(message) || std::holds_alternative<PushRefused>(message) ||
                      std::holds_alternative<PullReply>(message) || std::holds_alternative<PullRefused>(message);
  if (answer) {
    out.send.push_back({.to = to, .message = std::move(message)});
  } else {
    to_self_.push_back(std::move(message));
  }
}

// Behind one that waits, all do: they come in order.
bool RowNode::MustStall(NodeId from, const Message& message) const {
  if (from == self_) return false;
  const bool newer = MapVersionOf(message) > map_.version && !Mutant(RowMutation::kNewerMessageUnderOldMap);
  return newer || stalled_.Holds(from);
}

bool RowNode::HasRoomFor(NodeId from, const Message& message) const {
  return !stalled_.Holds(from) || !MustStall(from, message) || stalled_.HasRoom(from);
}

void RowNode::Receive(NodeId from, Message message, MonotonicTime now, RowOutputs& out) {
  if (MustStall(from, message)) {
    stalled_.Add(from, std::move(message));
    out.need_map = true;
    return;
  }
  Handle(from, std::move(message), now, out);
  DrainSelf(now, out);
}

void RowNode::Handle(NodeId from, Message&& message, MonotonicTime now, RowOutputs& out) {
  const Party sender = PartyOf(from, map_);
  if (from != self_ && sender == Party::kUnknown && !Mutant(RowMutation::kRemovedNodeAccepted) &&
      !(Mutant(RowMutation::kRemovedNodesHandoverAccepted) && std::holds_alternative<Handover>(message))) {
    return;
  }
  // What has waited for a map came before the role of its sender was known.
  if (from != self_ && !MayCome(message.index(), sender, PartyOf(self_, map_))) {
    return Reject(from, NameOf(message), WithoutRight(sender, PartyOf(self_, map_)), out);
  }
  std::visit([&](auto&& body) { On(from, std::move(body), now, out); }, std::move(message));
}

void RowNode::DrainSelf(MonotonicTime now, RowOutputs& out) {
  while (!to_self_.empty()) {
    Message message = std::move(to_self_.front());
    to_self_.pop_front();
    Handle(self_, std::move(message), now, out);
  }
}

void RowNode::DrainStalled(MonotonicTime now, RowOutputs& out) {
  const bool some_wait = stalled_.Release(map_.version, [&](NodeId from, Message message) {
    Handle(from, std::move(message), now, out);
    DrainSelf(now, out);
  });
  out.need_map = out.need_map || some_wait;
}

void RowNode::LearnSettled(NodeId origin, SequenceNumber acked_below, RowOutputs& out) {
  if (filter_.MergeAckedBelow(origin, acked_below)) RetryParked(origin, out);
}

void RowNode::Reject(NodeId from, const char* kind, const std::string& why, RowOutputs& out) {
  ++counters_.rejected;
  out.rejected.push_back({.from = from, .why = std::string(kind) + ": " + why});
}

void RowNode::Lose(Status status, RowOutputs& out) {
  if (!out.lost) out.lost = std::move(status);
}

// --- maps

void RowNode::RemoveOrigins(const ShardMap& old) {
  filter_.ForgetIf([&](NodeId origin) { return !IsMember(origin); });
  for (const Member& member : old.members) {
    if (IsMember(member.node)) continue;
    parked_.Forget(member.node);
    news_sent_.erase(member.node);
    asked_by_.erase(member.node);
    fetch_requests_.erase(member.node);
    if (collect_) collect_->missing.erase(member.node);
    joins_.Forget(member.node);
    if (!Mutant(RowMutation::kRemovedNodeAccepted) && !Mutant(RowMutation::kRemovedNodesHandoverAccepted)) {
      stalled_.Forget(member.node);
    }
  }
}

// Who may have owned rows and is lost. Of several recoveries, and of nodes that this one has never heard of, nothing is
// known: 0 stands for them.
std::vector<NodeId> RowNode::OwnersLostSince(const ShardMap& old) const {
  std::vector<NodeId> lost;
  for (const Member& member : old.members) {
    if (member.may_own_rows() && !IsMember(member.node)) lost.push_back(member.node);
  }
  const bool one_recovery = map_.recoveries == static_cast<uint16_t>(old.recoveries + 1);
  if (lost.empty() || !one_recovery) lost.push_back(NodeId());
  return lost;
}

void RowNode::AdoptHome(uint32_t shard, const Shard& old, bool recovery, std::vector<uint32_t>& given_away) {
  ShardState& state = shards_[shard];
  const bool home_here = map_.shards[shard].home == self_;
  if (home_here) {
    foreign_rows_ -= state.foreign;
    state.foreign = 0;
  }
  if (recovery) {
    if (!home_here) {
      if (old.home == self_) given_away.push_back(shard);  // by a change that this node has not seen
      state.home = HomeState::kNotHome;
      state.directory_complete = false;
      state.was_backup = state.owner_lost = false;
      return;
    }
    if (old.home != self_) {
      state.was_backup = state.was_backup || old.backup == self_ || old.next_backup == self_;
      state.copies_partial = old.backup != self_;
      state.directory_complete = false;
    }
    state.home = HomeState::kCollecting;
    return;
  }
  if (map_.shards[shard].home == old.home) return;
  state.owner_lost = false;
  if (old.home == self_) {
    given_away.push_back(shard);
    state.home = HomeState::kNotHome;
    state.directory_complete = false;
  } else if (home_here) {
    state.home = old.home == NodeId() ? HomeState::kActive : HomeState::kWaitHandoff;
    state.directory_complete = old.home == NodeId();
  }
}

void RowNode::AdoptMap(ShardMap next, MonotonicTime now, RowOutputs& out) {
  ATTUNE_CHECK(next.version > map_.version) << "map " << next.version << " after " << map_.version;
  const ShardMap old = std::exchange(map_, std::move(next));
  const bool recovery = map_.recovered_at > old.version;
  if (!snapshot_.open) snapshot_.mark = std::max(snapshot_.mark, map_.marked);
  const uint32_t count = map_.shard_count();
  const bool first = shards_.empty();
  if (first) {
    shards_.resize(count);
    directory_.SetShards(count);
  }
  RemoveOrigins(old);
  // Rows sent to a node that has failed come back by the recovery; one that has left has passed them on before.
  handovers_.EraseIf([&](const OpenHandover& handover) {
    if (IsMember(handover.to)) return false;
    HandoverEnded(handover);
    return true;
  });
  withheld_.EraseIf([&](NodeId to) { return !IsMember(to); });

  std::vector<Queued> operations;
  if (recovery) {
    ReleaseWithheld(out);
    if (!Mutant(RowMutation::kOldOrdersSurviveRecovery)) orders_.Clear();
    claims_.clear();
    asked_by_.clear();
    fetch_requests_.clear();
    fetching_all_.clear();
    fetching_ = 0;
    restore_ = {};
    collect_.reset();
    call_back_.clear();
    directory_.ForgetComing();
    if (!Mutant(RowMutation::kWaitingOpsKeptAtRecovery)) operations = waiting_.TakeAll();
  }
  std::vector<uint32_t> given_away, dropped;
  const std::vector<NodeId> owners_lost = recovery ? OwnersLostSince(old) : std::vector<NodeId>();
  for (uint32_t i = 0; i < count; ++i) {
    const Shard before = first ? Shard{} : old.shards[i];
    const Shard& after = map_.shards[i];
    AdoptHome(i, before, recovery, given_away);
    // A backup owns no row of its shard.
    const bool any_lost = std::ranges::any_of(owners_lost, [&](NodeId lost) { return lost != before.backup || first; });
    shards_[i].owner_lost = shards_[i].owner_lost || (after.home == self_ && any_lost);
    const bool had_copies = before.backup == self_ || before.next_backup == self_;
    const bool has_copies = after.backup == self_ || after.next_backup == self_;
    if (had_copies && !has_copies && !(recovery && after.home == self_)) dropped.push_back(i);
    if (has_copies && (recovery || !had_copies)) shards_[i].absent_era = map_.recoveries;
  }
  if (recovery || !given_away.empty()) {
    std::ranges::move(waiting_.TakeQueue(), std::back_inserter(operations));
  }
  if (!given_away.empty()) TakeParkedElsewhere(given_away, operations);
  UpdatePlain();
  DropCopies(dropped, out);
  EndJoins(out);
  BeginJoins(old, now, out);
  MarkLeaving(old, out);
  SendHandoffs(given_away, !recovery, out);
  if (recovery) BeginRecovery(now, out);
  PlanCallBacks();
  Requeue(std::move(operations), now, out);
  DrainSelf(now, out);
  CheckReports(now, out);
  Resolve(now, out);
  CallBack(now, out);
  DrainSelf(now, out);
  CheckJoins(out);
  DrainStalled(now, out);
  out.report = true;
}

void RowNode::UpdatePlain() {
  plain_.resize(shards_.size());
  any_guard_ = false;
  for (size_t i = 0; i < shards_.size(); ++i) {
    plain_[i] = shards_[i].home == HomeState::kActive && directory_.InShard(static_cast<uint32_t>(i)) == 0 ? 1 : 0;
    any_guard_ = any_guard_ || map_.shards[i].backup != NodeId() || map_.shards[i].next_backup != NodeId();
  }
}

// --- what others may know

RowsReport RowNode::Report() const {
  RowsReport report{.map_version = map_.version};
  for (const ShardState& state : shards_) {
    if (state.home != HomeState::kNotHome && state.home != HomeState::kActive) ++report.shards_not_ready;
  }
  if (fetching_ > 0 && report.shards_not_ready == 0) report.shards_not_ready = 1;
  report.joins_done = joins_.Done();
  report.copies_to_send += joins_.rows_to_install();
  for (const auto& table : rows_) report.rows_held += table != nullptr ? table->row_count() : 0;
  for (const auto& table : copies_) report.copies += table != nullptr ? table->row_count() : 0;
  report.rows_foreign = foreign_rows_;
  report.handovers_open = handovers_.size();
  report.operations_waiting = waiting_.rows() + waiting_.queued() + parked() + held_.rows() + orders_.rows();
  if (const Member* me = map_.Find(self_); me != nullptr && me->leaving) {
    for (const Member& member : map_.members) {
      const bool gives_orders = member.node != self_ && member.may_own_rows();
      if (gives_orders && !leave_markers_.contains(member.node)) ++report.operations_waiting;
    }
  }
  report.rows_to_come = call_back_.size() + directory_.called_back();
  report.rows_received = counters_.rows_received;
  report.rows_sent = counters_.rows_sent;
  report.shards_restored = shards_restored_;
  report.rows_restored = rows_restored_;
  report.rows_begun_anew = rows_begun_anew_;
  return report;
}

void RowNode::ForEachStalled(const std::function<void(NodeId from, const Message&)>& visit) const {
  stalled_.ForEach(visit);
}

std::string RowNode::WhatWaits() const {
  std::string text;
  const auto add = [&](const char* what, size_t count) {
    if (count > 0) text += std::string(text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add("keys with waiting operations", waiting_.rows());
  add("operations queued at the home", waiting_.queued());
  add("held replicates", held_.rows());
  add("orders", orders_.rows());
  add("unacknowledged handovers", handovers_.size());
  add("withheld handover acks", withheld_.size());
  add("unanswered installs", joins_.open_installs());
  add("peers with stalled messages", stalled_.senders());
  add("rows being fetched", fetching_);
  add("recoveries in progress", collect_ ? 1 : 0);
  return text;
}

NodeId RowNode::DirectoryOwner(TableId table, Key key) const {
  if (shards_.empty() || shards_[ShardOf(key)].home != HomeState::kActive) return {};
  const DirectoryEntry* entry = directory_.Find({table, key});
  return entry == nullptr ? self_ : entry->owner;
}

}  // namespace attune::ps
