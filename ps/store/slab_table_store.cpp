#include "ps/store/slab_table_store.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <set>

#include "base/check.h"
#include "ps/store/formulas/learning_rate.h"

namespace attune::ps {
namespace {

// How far ahead of its use a cache line is asked for: index buckets and rows, in keys. From 8 to 32 it makes little
// difference (bench/store).
constexpr size_t kIndexAhead = 16;
constexpr size_t kRowsAhead = 8;
constexpr size_t kPieceKeys = 256;
constexpr uint64_t kPrefetchBytesMax = 1024;  // of one row; the hardware follows from there
constexpr uint64_t kIndexBytesPerRow = 24;    // more than a row takes in the index, for the budget's question
constexpr uint64_t kSnapshotPieceRows = 256;  // visited under one exclusive lock

// One per thread and kept, so that a batch allocates nothing.
std::vector<uint32_t>& ScratchSlots(size_t n) {
  static thread_local std::vector<uint32_t> slots;
  slots.resize(n);
  return slots;
}

std::string RangeOf(std::span<const Key> keys) {
  if (keys.size() == 1) return "key " + std::to_string(keys[0]);
  const auto [low, high] = std::ranges::minmax(keys);
  return std::to_string(keys.size()) + " keys of " + std::to_string(low) + " .. " + std::to_string(high);
}

}  // namespace

template <bool kConcurrent>
SlabTableStore<kConcurrent>::SlabTableStore(const TableSpec& spec, const StoreOptions& options)
    : spec_(spec),
      layout_(spec.options),
      kernel_(SelectKernel(spec.options.optimizer)),
      fold_(spec.options),
      initializer_(spec.options.initializer, spec.options.seed, spec.name),
      budget_(options.memory_budget),
      slabs_(layout_.row_bytes(), layout_.has_row_state()),
      snapshot_(layout_) {}

template <bool kConcurrent>
SlabTableStore<kConcurrent>::~SlabTableStore() {
  if (budget_ != nullptr) budget_->Account(accounted_bytes_, 0);
}

// --- finding rows

template <bool kConcurrent>
template <typename SlabTableStore<kConcurrent>::Prefetch what>
void SlabTableStore<kConcurrent>::PrefetchSlot(uint32_t slot) const {
  if constexpr (what == Prefetch::kSide || what == Prefetch::kRowAndSide) __builtin_prefetch(&slabs_.Side(slot));
  if constexpr (what == Prefetch::kRow || what == Prefetch::kRowAndSide) {
    const std::byte* row = slabs_.Row(slot);
    const uint64_t bytes = std::min(slabs_.stride(), kPrefetchBytesMax);
    for (uint64_t offset = 0; offset < bytes; offset += kCacheLine) __builtin_prefetch(row + offset);
  }
}

template <bool kConcurrent>
template <typename SlabTableStore<kConcurrent>::Prefetch what, typename Visitor>
void SlabTableStore<kConcurrent>::ForEachSlot(std::span<const Key> keys, Visitor&& visit) const {
  // Piece by piece: first all slots, asking for the index bucket of kIndexAhead keys later, then all rows, asking for
  // the row of kRowsAhead keys later. One loop for both was slower: it has more misses in flight than a core can track.
  std::array<RowIndex::Start, kIndexAhead> starts;
  std::array<uint32_t, kPieceKeys> slots;
  for (size_t first = 0; first < keys.size(); first += kPieceKeys) {
    const size_t n = std::min(kPieceKeys, keys.size() - first);
    const Key* piece = keys.data() + first;
    for (size_t i = 0; i < std::min(n, kIndexAhead); ++i) starts[i] = index_.Prefetch(RowIndex::Hash(piece[i]));
    for (size_t i = 0; i < n; ++i) {
      slots[i] = index_.Find(piece[i], starts[i % kIndexAhead]);
      if (i + kIndexAhead < n) starts[i % kIndexAhead] = index_.Prefetch(RowIndex::Hash(piece[i + kIndexAhead]));
    }
    for (size_t i = 0; i < std::min(n, kRowsAhead); ++i) {
      if (slots[i] != RowIndex::kAbsent) PrefetchSlot<what>(slots[i]);
    }
    for (size_t i = 0; i < n; ++i) {
      if (i + kRowsAhead < n && slots[i + kRowsAhead] != RowIndex::kAbsent) PrefetchSlot<what>(slots[i + kRowsAhead]);
      visit(first + i, slots[i]);
    }
  }
}

template <bool kConcurrent>
uint64_t SlabTableStore<kConcurrent>::FindSlots(std::span<const Key> keys, Slots& slots) const {
  uint64_t absent = 0;
  ForEachSlot<Prefetch::kIndex>(keys, [&](size_t i, uint32_t slot) {
    slots[i] = slot;
    absent += slot == RowIndex::kAbsent ? 1 : 0;
  });
  return absent;
}

// --- reading

template <bool kConcurrent>
void SlabTableStore<kConcurrent>::Pull(std::span<const Key> keys, std::span<float> rows) const {
  const size_t dim = layout_.dim();
  ATTUNE_CHECK(rows.size() == keys.size() * dim) << rows.size() << " values for " << keys.size() << " keys";
  const std::shared_lock lock(structure_);
  ForEachSlot<kPullPrefetch>(keys, [&](size_t i, uint32_t slot) {
    if (slot == RowIndex::kAbsent) return initializer_.Fill(keys[i], rows.subspan(i * dim, dim));
    const LockedRow locked(slabs_.Side(slot));
    layout_.LoadValues(slabs_.Row(slot), rows.data() + i * dim);
  });
}

template <bool kConcurrent>
bool SlabTableStore<kConcurrent>::PullIfPresent(std::span<const Key> keys, std::span<float> rows) const {
  const size_t dim = layout_.dim();
  ATTUNE_CHECK(rows.size() == keys.size() * dim) << rows.size() << " values for " << keys.size() << " keys";
  const std::shared_lock lock(structure_);
  if (keys.empty() || index_.Find(keys[0], index_.Prefetch(RowIndex::Hash(keys[0]))) == RowIndex::kAbsent) {
    return keys.empty();  // most batches that are not here are seen at once
  }
  bool all = true;
  ForEachSlot<kPullPrefetch>(keys, [&](size_t i, uint32_t slot) {
    if (slot == RowIndex::kAbsent) {
      all = false;
      return;
    }
    const LockedRow locked(slabs_.Side(slot));
    layout_.LoadValues(slabs_.Row(slot), rows.data() + i * dim);
  });
  return all;
}

template <bool kConcurrent>
uint64_t SlabTableStore<kConcurrent>::Contains(std::span<const Key> keys, std::span<uint64_t> present) const {
  ATTUNE_CHECK(present.size() * 64 >= keys.size()) << present.size() << " words for " << keys.size() << " keys";
  uint64_t count = 0;
  std::ranges::fill(present, 0);
  const std::shared_lock lock(structure_);
  ForEachSlot<Prefetch::kIndex>(keys, [&](size_t i, uint32_t slot) {
    const uint64_t found = slot == RowIndex::kAbsent ? 0 : 1;
    present[i / 64] |= found << (i % 64);
    count += found;
  });
  return count;
}

template <bool kConcurrent>
uint64_t SlabTableStore<kConcurrent>::VisitRows(std::span<const Key> keys,
                                                const std::function<void(const RowView&)>& visit) const {
  std::vector<float> scratch;
  uint64_t visited = 0;
  const std::shared_lock lock(structure_);
  ForEachSlot<Prefetch::kRowAndSide>(keys, [&](size_t i, uint32_t slot) {
    if (slot == RowIndex::kAbsent) return;
    SideRecord& side = slabs_.Side(slot);
    const LockedRow locked(side);
    visit(layout_.View(keys[i], side, slabs_.Row(slot), slabs_.RowState(slot), scratch));
    ++visited;
  });
  return visited;
}

template <bool kConcurrent>
void SlabTableStore<kConcurrent>::ForEachRow(const std::function<void(const RowView&)>& visit) const {
  std::vector<float> scratch;
  const std::shared_lock lock(structure_);
  index_.ForEach([&](Key key, uint32_t slot) {
    SideRecord& side = slabs_.Side(slot);
    const LockedRow locked(side);
    visit(layout_.View(key, side, slabs_.Row(slot), slabs_.RowState(slot), scratch));
  });
}

template <bool kConcurrent>
void SlabTableStore<kConcurrent>::ForEachKey(HashRange range, const std::function<void(Key)>& visit) const {
  const std::shared_lock lock(structure_);
  index_.ForEachInRange(uint64_t{range.first} << 32, (uint64_t{range.last} << 32) | 0xFFFFFFFFU,
                        [&](Key key, uint32_t) { visit(key); });
}

// --- adding and removing rows

template <bool kConcurrent>
uint64_t SlabTableStore<kConcurrent>::memory_bytes() const {
  const std::shared_lock lock(structure_);
  return sizeof(*this) + slabs_.memory_bytes() + index_.memory_bytes() + snapshot_.memory_bytes();
}

template <bool kConcurrent>
void SlabTableStore<kConcurrent>::AccountMemory() {
  if (budget_ == nullptr) return;
  const uint64_t now = slabs_.memory_bytes() + index_.memory_bytes();
  budget_->Account(accounted_bytes_, now);
  accounted_bytes_ = now;
}

template <bool kConcurrent>
Status SlabTableStore<kConcurrent>::NoMemory(std::span<const Key> keys, const std::string& why) const {
  return Error(StatusCode::kResourceExhausted, "no memory for rows of " + RangeOf(keys) + " of table '" + spec_.name +
                                                   "', which has " + std::to_string(row_count()) + " here: " + why +
                                                   "; give the servers more memory or start more of them");
}

template <bool kConcurrent>
Status SlabTableStore<kConcurrent>::ReserveRows(std::span<const Key> keys, const Slots& slots) {
  uint64_t absent = 0;
  for (const uint32_t slot : slots) absent += slot == RowIndex::kAbsent ? 1 : 0;
  const uint64_t rows_max =
      spec_.options.rows_max == 0 ? RowIndex::kRowsMax : std::min(spec_.options.rows_max, RowIndex::kRowsMax);
  const uint64_t room = rows_max - std::min(row_count(), rows_max);
  if (absent > room) {  // a key that was sent twice counts once
    std::set<Key> unique;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (slots[i] == RowIndex::kAbsent) unique.insert(keys[i]);
    }
    absent = unique.size();
  }
  if (absent > room) {
    return Error(StatusCode::kResourceExhausted, "table '" + spec_.name + "' has " + std::to_string(row_count()) +
                                                     " rows here and may have " + std::to_string(rows_max) + "; " +
                                                     std::to_string(absent) + " more, among " + RangeOf(keys) +
                                                     ", are refused. Raise rows_max or start more servers");
  }
  const uint64_t slots_needed = free_slots_.EndWith(absent);
  const uint64_t bytes = slabs_.BytesToReserve(slots_needed) + absent * kIndexBytesPerRow;
  if (budget_ != nullptr && !budget_->HasRoomFor(bytes)) {
    return NoMemory(keys, std::to_string(budget_->used() >> 20) + " of the " + std::to_string(budget_->limit() >> 20) +
                              " MiB for tables are in use");
  }
  return slabs_.Reserve(slots_needed) ? OkStatus() : NoMemory(keys, "the system gives none");
}

template <bool kConcurrent>
uint32_t SlabTableStore<kConcurrent>::AddRow(Key key, uint64_t hash, RowVersion version) {
  const uint32_t slot = free_slots_.next();
  if (!index_.Insert(key, hash, slot)) return RowIndex::kAbsent;
  free_slots_.TakeNext(slabs_);
  SideRecord& side = slabs_.Side(slot);
  side = {};
  side.set_version(version);
  side.flags = kChanged;
  rows_changed_.fetch_add(1, std::memory_order_relaxed);
  if (snapshot_.IsAhead(hash)) {
    side.flags |= kSaved;
    snapshot_.Flag(key);
  }
  row_count_.fetch_add(1, std::memory_order_relaxed);
  return slot;
}

template <bool kConcurrent>
bool SlabTableStore<kConcurrent>::EraseRow(Key key) {
  const uint64_t hash = RowIndex::Hash(key);
  const uint32_t slot = index_.Find(key, hash);
  if (slot == RowIndex::kAbsent) return false;
  SideRecord& side = slabs_.Side(slot);
  BeforeChange(key, slot, side);
  if ((side.flags & kChanged) != 0) rows_changed_.fetch_sub(1, std::memory_order_relaxed);
  index_.Erase(key, hash);
  free_slots_.Free(slot, slabs_);
  row_count_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

template <bool kConcurrent>
void SlabTableStore<kConcurrent>::InitializeRow(Key key, uint32_t slot) {
  std::byte* row = slabs_.Row(slot);
  static thread_local std::vector<float> values;
  values.resize(layout_.dim());
  initializer_.Fill(key, values);
  InitializeState(spec_.options.optimizer, {values.data(), layout_.State(row), slabs_.RowState(slot)}, layout_.dim());
  layout_.StoreValues(values.data(), row);
}

template <bool kConcurrent>
Status SlabTableStore<kConcurrent>::AddRows(std::span<const Key> keys, RowVersion version, bool is_initialized,
                                            Slots& slots) {
  RETURN_IF_ERROR(ReserveRows(keys, slots));
  std::vector<Key> added;
  added.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (slots[i] != RowIndex::kAbsent) continue;
    const uint64_t hash = RowIndex::Hash(keys[i]);
    slots[i] = index_.Find(keys[i], hash);  // present now only if a key was sent twice
    if (slots[i] != RowIndex::kAbsent) continue;
    slots[i] = AddRow(keys[i], hash, version);
    if (slots[i] == RowIndex::kAbsent) {
      for (const Key key : added) EraseRow(key);
      return NoMemory(keys, "the system gives none");
    }
    added.push_back(keys[i]);
    if (is_initialized) InitializeRow(keys[i], slots[i]);
  }
  AccountMemory();
  return OkStatus();
}

template <bool kConcurrent>
Status SlabTableStore<kConcurrent>::Insert(std::span<const RowView> rows) {
  std::vector<Key> keys;
  keys.reserve(rows.size());
  for (const RowView& row : rows) {
    if (row.values.size() != layout_.dim() || row.state.size() != layout_.state_floats()) {
      return Error(StatusCode::kInvalidArgument,
                   "row " + std::to_string(row.key) + " has " + std::to_string(row.values.size()) + " values and " +
                       std::to_string(row.state.size()) + " of optimizer state; table '" + spec_.name + "' has " +
                       std::to_string(layout_.dim()) + " and " + std::to_string(layout_.state_floats()));
    }
    keys.push_back(row.key);
  }
  Slots& slots = ScratchSlots(keys.size());
  const std::lock_guard lock(structure_);
  if (FindSlots(keys, slots) > 0) {
    RETURN_IF_ERROR(AddRows(keys, RowVersion(), false, slots));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kRowsAhead < rows.size()) PrefetchSlot<Prefetch::kRowAndSide>(slots[i + kRowsAhead]);
    SideRecord& side = slabs_.Side(slots[i]);
    BeforeChange(keys[i], slots[i], side);
    side.set_version(rows[i].version);
    side.move_number = rows[i].move_number;
    layout_.Write(rows[i], slabs_.Row(slots[i]), slabs_.RowState(slots[i]));
  }
  return OkStatus();
}

template <bool kConcurrent>
Status SlabTableStore<kConcurrent>::CreateRows(std::span<const Key> keys, RowVersion version) {
  Slots& slots = ScratchSlots(keys.size());
  const std::lock_guard lock(structure_);
  return FindSlots(keys, slots) == 0 ? OkStatus() : AddRows(keys, version, true, slots);
}

template <bool kConcurrent>
uint64_t SlabTableStore<kConcurrent>::Erase(std::span<const Key> keys) {
  uint64_t erased = 0;
  const std::lock_guard lock(structure_);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i + kIndexAhead < keys.size()) static_cast<void>(index_.Prefetch(RowIndex::Hash(keys[i + kIndexAhead])));
    erased += EraseRow(keys[i]) ? 1 : 0;
  }
  return erased;
}

// --- changing rows

template <bool kConcurrent>
void SlabTableStore<kConcurrent>::BeforeChange(Key key, uint32_t slot, SideRecord& side) {
  if (snapshot_.active() && snapshot_.IsAhead(RowIndex::Hash(key)) && (side.flags & kSaved) == 0) {
    const bool changed = all_changed_ || (side.flags & kChanged) != 0;
    snapshot_.Save(key, side, slabs_.Row(slot), slabs_.RowState(slot), changed);
    side.flags |= kSaved | kChanged;
    rows_changed_.fetch_add(1, std::memory_order_relaxed);
  } else if ((side.flags & kChanged) == 0) {
    side.flags |= kChanged;
    rows_changed_.fetch_add(1, std::memory_order_relaxed);
  }
}

// Whether there are gradients to skip.
template <bool kConcurrent>
StatusOr<bool> SlabTableStore<kConcurrent>::CheckGradients(std::span<const Key> keys, std::span<const float> gradients,
                                                           bool is_fold) const {
  const size_t width = is_fold ? fold_.fold_floats() : layout_.dim();
  if (gradients.size() != keys.size() * width) {
    return Error(StatusCode::kInvalidArgument, "a push to table '" + spec_.name + "' has " +
                                                   std::to_string(gradients.size()) + " values for " +
                                                   std::to_string(keys.size()) + " keys of " + std::to_string(width) +
                                                   (is_fold ? ", as a fold has" : ", its dim"));
  }
  if (is_fold || kernel_.all_finite(gradients.data(), gradients.size())) return false;
  if (spec_.options.non_finite_gradients == NonFiniteGradients::kSkipRow) return true;
  size_t i = 0;
  while (kernel_.all_finite(gradients.data() + i * width, width)) ++i;
  return Error(StatusCode::kInvalidArgument, "the gradient of key " + std::to_string(keys[i]) + " of table '" +
                                                 spec_.name +
                                                 "' is not finite; nothing of this push is applied. Lower the learning "
                                                 "rate or clip gradients");
}

template <bool kConcurrent>
PushResult SlabTableStore<kConcurrent>::Apply(std::span<const Key> keys, std::span<const float> gradients,
                                              const PushOptions& options, bool may_skip, const Slots& slots) {
  static thread_local std::vector<float> scratch;
  const size_t width = WidthOf(options);
  const LearningRateSchedule& schedule = spec_.options.schedule;
  const OptimizerSettings settings =
      schedule != LearningRateSchedule() ? kernel_.SettingsAt(RateFactor(schedule, options.step)) : kernel_.settings;
  PushResult result;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i + kRowsAhead < keys.size()) PrefetchSlot<Prefetch::kRowAndSide>(slots[i + kRowsAhead]);
    const uint32_t slot = slots[i];
    SideRecord& side = slabs_.Side(slot);
    const LockedRow locked(side);
    BeforeChange(keys[i], slot, side);
    const RowVersion version = options.VersionAfter(side.version(), i);
    side.set_version(version);
    if (!options.versions.empty()) options.versions[i] = version;
    const float* gradient = gradients.data() + i * width;
    if (may_skip && options.folds.empty() && !kernel_.all_finite(gradient, width)) {
      ++result.rows_skipped;
      continue;
    }
    layout_.Update(slabs_.Row(slot), slabs_.RowState(slot), scratch, [&](const RowParts& row) {
      if (options.folds.empty()) return kernel_.update(settings, row, gradient, width, version.counter());
      fold_.Apply({.counts = options.folds[i], .changes = {gradient, width}}, row);
    });
  }
  return result;
}

template <bool kConcurrent>
StatusOr<PushResult> SlabTableStore<kConcurrent>::Push(std::span<const Key> keys, std::span<const float> gradients,
                                                       const PushOptions& options) {
  ATTUNE_CHECK(options.versions.empty() || options.versions.size() == keys.size())
      << options.versions.size() << " places for versions";
  ATTUNE_CHECK(options.folds.empty() || options.folds.size() == keys.size()) << options.folds.size() << " folds";
  ASSIGN_OR_RETURN(const bool may_skip, CheckGradients(keys, gradients, !options.folds.empty()));
  Slots& slots = ScratchSlots(keys.size());
  {
    const std::shared_lock lock(structure_);
    if (FindSlots(keys, slots) == 0) return Apply(keys, gradients, options, may_skip, slots);
  }
  const std::lock_guard lock(structure_);
  if (kConcurrent) FindSlots(keys, slots);  // others may have added or erased some meanwhile
  RETURN_IF_ERROR(AddRows(keys, RowVersion(), true, slots));
  return Apply(keys, gradients, options, may_skip, slots);
}

template <bool kConcurrent>
std::optional<StatusOr<PushResult>> SlabTableStore<kConcurrent>::PushIfPresent(std::span<const Key> keys,
                                                                               std::span<const float> gradients,
                                                                               const PushOptions& options) {
  Slots& slots = ScratchSlots(keys.size());
  const std::shared_lock lock(structure_);
  if (options.expected.empty()) {
    if (FindSlots(keys, slots) > 0) return std::nullopt;
  } else {
    ATTUNE_CHECK(options.expected.size() == keys.size()) << options.expected.size() << " versions expected";
    bool fits = true;
    ForEachSlot<Prefetch::kSide>(keys, [&](size_t i, uint32_t slot) {
      slots[i] = slot;
      fits = fits && slot != RowIndex::kAbsent &&
             options.VersionAfter(slabs_.Side(slot).version(), i) == options.expected[i];
    });
    if (!fits) return std::nullopt;
  }
  if (options.is_checked && gradients.size() == keys.size() * WidthOf(options)) {
    return Apply(keys, gradients, options, spec_.options.non_finite_gradients == NonFiniteGradients::kSkipRow, slots);
  }
  const StatusOr<bool> may_skip = CheckGradients(keys, gradients, !options.folds.empty());
  if (!may_skip.ok()) return may_skip.status();
  return Apply(keys, gradients, options, *may_skip, slots);
}

template <bool kConcurrent>
uint64_t SlabTableStore<kConcurrent>::RaiseEra(std::span<const Key> keys, uint16_t era) {
  uint64_t present = 0;
  const std::shared_lock lock(structure_);
  ForEachSlot<Prefetch::kSide>(keys, [&](size_t i, uint32_t slot) {
    if (slot == RowIndex::kAbsent) return;
    SideRecord& side = slabs_.Side(slot);
    const LockedRow locked(side);
    BeforeChange(keys[i], slot, side);
    const RowVersion version = side.version();
    if (version.era() < era) side.set_version(RowVersion(era, version.counter()));
    side.move_number = 0;
    ++present;
  });
  return present;
}

// --- snapshot

template <bool kConcurrent>
uint64_t SlabTableStore<kConcurrent>::rows_changed() const {
  const std::shared_lock lock(structure_);
  return all_changed_ && !snapshot_.active() ? row_count() : rows_changed_.load(std::memory_order_relaxed);
}

template <bool kConcurrent>
Status SlabTableStore<kConcurrent>::BeginSnapshot() {
  const std::lock_guard lock(structure_);
  if (snapshot_.active()) {
    return Error(StatusCode::kFailedPrecondition,
                 "a snapshot of table '" + spec_.name + "' is in progress; end it before the next one begins");
  }
  snapshot_.Begin();
  rows_changed_.store(0, std::memory_order_relaxed);
  return OkStatus();
}

template <bool kConcurrent>
bool SlabTableStore<kConcurrent>::NextRows(uint64_t rows,
                                           const std::function<void(const RowView&, bool changed)>& visit) {
  std::vector<float> scratch;
  uint64_t visited = 0;
  while (visited < rows) {
    const std::lock_guard lock(structure_);
    for (; visited < rows && snapshot_.TakeSaved(visit); ++visited) {
    }
    uint64_t first = 0, last = 0;
    if (visited >= rows) break;
    if (!snapshot_.Advance(std::min(rows - visited, kSnapshotPieceRows), row_count(), &first, &last)) return false;
    index_.ForEachInRange(first, last, [&](Key key, uint32_t slot) {
      SideRecord& side = slabs_.Side(slot);
      if ((side.flags & kSaved) != 0) {
        side.flags &= ~kSaved;  // what it was is among the saved ones, if it was there
        return;
      }
      const bool changed = all_changed_ || (side.flags & kChanged) != 0;
      side.flags &= ~kChanged;
      visit(layout_.View(key, side, slabs_.Row(slot), slabs_.RowState(slot), scratch), changed);
      ++visited;
    });
  }
  const std::shared_lock lock(structure_);
  return snapshot_.has_saved() || !snapshot_.at_end();
}

template <bool kConcurrent>
void SlabTableStore<kConcurrent>::AddToSnapshot(std::span<const RowView> rows) {
  const std::lock_guard lock(structure_);
  ATTUNE_CHECK(snapshot_.active()) << "table " << spec_.name;
  for (const RowView& row : rows) snapshot_.Add(row);
}

template <bool kConcurrent>
void SlabTableStore<kConcurrent>::EndSnapshot(bool kept) {
  const std::lock_guard lock(structure_);
  all_changed_ = !kept || !snapshot_.at_end();
  if (snapshot_.at_end()) return snapshot_.End([](Key) {});
  snapshot_.End([&](Key key) {
    const uint32_t slot = index_.Find(key, RowIndex::Hash(key));
    if (slot != RowIndex::kAbsent) slabs_.Side(slot).flags &= ~kSaved;
  });
}

template class SlabTableStore<false>;
template class SlabTableStore<true>;

}  // namespace attune::ps
