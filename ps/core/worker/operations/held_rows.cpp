#include "ps/core/worker/operations/held_rows.h"

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace attune::ps {

void HeldRows::OpenTable(TableId table, const TableOptions& options) { tables_.try_emplace(table, options); }

// --- what comes from the home

void HeldRows::Confirm(NodeId home, MonotonicTime sent, uint64_t floor) {
  Confirmed& confirmed = confirmed_[home];
  confirmed.sent = std::max(confirmed.sent, sent);
  confirmed.floor = std::max(confirmed.floor, floor);
}

void HeldRows::Add(TableKey row, const Fresh& fresh, uint64_t step) {
  Table& table = tables_.at(row.table);
  Held& held = rows_.Add(row);
  held.home = fresh.home;
  held.version = fresh.version;
  held.used = static_cast<uint32_t>(step);
  held.row = table.rows.Take();
  bytes_ += table.rows.block_bytes();
  const std::span<float> copy = table.rows.At(held.row);
  ATTUNE_CHECK(fresh.row.size() == copy.size()) << fresh.row.size() << " floats of a row that has " << copy.size();
  std::ranges::copy(fresh.row, copy.begin());
}

void HeldRows::Refresh(Held& held, const Fresh& fresh) {
  Table& table = TableOf(held);
  if (held.home != fresh.home) {
    held.home = fresh.home;
    if (IsDirty(held)) to_flush_[{held.home, TableId(held.table)}].push_back(held.key);
  }
  HeldRow copy = CopyOf(held);
  std::optional<FoldView> missing;
  if (IsInFlight(held) && WritesOf(held).sequence > fresh.contains) {
    missing = {.counts = WritesOf(held).in_flight, .changes = ChangesOf(held)};
  }
  table.formula.Refresh(copy, fresh.row, fresh.version, missing ? &*missing : nullptr);
  held.version = copy.version;
}

// --- the program

HeldRows::Found HeldRows::Read(TableKey row, const Need& need, std::span<const float>& values) {
  Held* const held = Find(row);
  if (held == nullptr) return Found::kNot;
  held->used = static_cast<uint32_t>(need.step);
  const auto confirmed = confirmed_.find(held->home);
  if (confirmed == confirmed_.end()) return Found::kStale;
  if (need.now - confirmed->second.sent > need.age_max || confirmed->second.floor < need.floor) return Found::kStale;
  const Table& table = TableOf(*held);
  values = table.rows.At(held->row).first(table.dim);
  return Found::kHere;
}

HeldRows::Pushed HeldRows::Push(TableKey row, std::span<const float> gradient, uint64_t step) {
  Held* const held = Find(row);
  if (held == nullptr || !BeginWrites(*held)) return Pushed::kNot;
  Writes& writes = WritesOf(*held);
  if (writes.open.pushes == 0) {
    to_flush_[{held->home, row.table}].push_back(row.key);
    ++open_;
  }
  HeldRow copy = CopyOf(*held);
  const bool is_applied = TableOf(*held).formula.Push(copy, gradient, step);
  writes.open = copy.open;
  held->version = copy.version;
  held->used = static_cast<uint32_t>(step);
  return is_applied ? Pushed::kDone : Pushed::kSkipped;
}

// --- folds

HeldRow HeldRows::CopyOf(const Held& held) {
  Table& table = TableOf(held);
  HeldRow copy{.version = held.version, .open = {}, .row = table.rows.At(held.row), .base = {}};
  if (held.writes != kNoBlock) {
    copy.open = WritesOf(held).open;
    copy.base = table.floats.At(held.writes).first(table.formula.row_floats());
  }
  return copy;
}

std::span<float> HeldRows::ChangesOf(const Held& held) {
  Table& table = TableOf(held);
  return table.floats.At(held.writes).subspan(table.formula.row_floats());
}

bool HeldRows::BeginWrites(Held& held) {
  if (held.writes != kNoBlock) return true;
  Table& table = TableOf(held);
  if (bytes_ + table.floats.block_bytes() > bytes_max_) return false;
  bytes_ += table.floats.block_bytes();
  held.writes = table.floats.Take();
  if (table.writes.size() <= held.writes) table.writes.resize(held.writes + 1);
  table.writes[held.writes] = {};
  return true;
}

void HeldRows::EndWritesIfIdle(Held& held) {
  if (held.writes == kNoBlock || IsDirty(held) || IsInFlight(held)) return;
  Table& table = TableOf(held);
  table.floats.Give(held.writes);
  bytes_ -= table.floats.block_bytes();
  held.writes = kNoBlock;
}

FoldView HeldRows::TakeFold(Held& held, SequenceNumber sequence) {
  HeldRow copy = CopyOf(held);
  const std::span<float> changes = ChangesOf(held);
  Writes& writes = WritesOf(held);
  writes.in_flight = TableOf(held).formula.Take(copy, changes);
  writes.open = {};
  writes.sequence = sequence;
  --open_;
  return {.counts = writes.in_flight, .changes = changes};
}

void HeldRows::Folded(TableKey row, SequenceNumber sequence) {
  Held* const held = Find(row);
  if (held == nullptr || !IsInFlight(*held) || WritesOf(*held).sequence != sequence) return;
  WritesOf(*held).in_flight = {};
  WritesOf(*held).sequence = {};
  EndWritesIfIdle(*held);
}

// --- copies that go

bool HeldRows::Drop(TableKey row) {
  Held* const held = Find(row);
  if (held == nullptr) return true;
  if (IsDirty(*held)) return false;
  Remove(row);
  return true;
}

void HeldRows::Remove(TableKey row) {
  rows_.RemoveOf(row, [&](Held& held) {
    if (held.writes != kNoBlock) {
      WritesOf(held) = {};
      EndWritesIfIdle(held);
    }
    Table& table = TableOf(held);
    table.rows.Give(held.row);
    bytes_ -= table.rows.block_bytes();
    return true;
  });
}

bool HeldRows::MakeRoom(size_t bytes) {
  while (bytes_ + bytes > bytes_max_) {
    const Held* const least = LeastUsed();
    if (least == nullptr) return false;
    const TableKey row{TableId(least->table), least->key};
    gone_.push_back(row);
    Remove(row);
  }
  return true;
}

// Of the next few that may go; all are looked at in turn.
HeldRows::Held* HeldRows::LeastUsed() {
  constexpr int kLookedAt = 16;
  Held* least = nullptr;
  int looked_at = 0;
  for (size_t i = 0; i < rows_.places() && looked_at < kLookedAt; ++i) {
    hand_ = hand_ + 1 < rows_.places() ? hand_ + 1 : 0;
    Held* const held = rows_.InPlace(hand_);
    if (held == nullptr || IsDirty(*held)) continue;
    ++looked_at;
    // The difference of two steps is right although only their lower halves are kept.
    if (least == nullptr || static_cast<int32_t>(held->used - least->used) < 0) least = held;
  }
  return least;
}

}  // namespace attune::ps
