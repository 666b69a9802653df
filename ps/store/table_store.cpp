#include "ps/store/table_store.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <vector>

#include "base/check.h"
#include "ps/store/initializer.h"
#include "ps/store/optimizer.h"
#include "ps/store/row_index.h"
#include "ps/store/row_slabs.h"

namespace attune::ps {
namespace {

// How far ahead of its use a cache line is asked for: index buckets and rows, in keys. Measured
// in bench/store; from 8 to 32 it makes little difference.
constexpr size_t kIndexAhead = 16;
constexpr size_t kRowsAhead = 8;
constexpr uint64_t kCacheLine = 64;
constexpr uint64_t kPrefetchBytesMax = 1024;  // of one row; the hardware follows from there

class SlabTableStore final : public TableStore {
 public:
  explicit SlabTableStore(const TableSpec& spec)
      : spec_(spec),
        dim_(spec.options.dim),
        states_(size_t{spec.options.dim} * StatesPerValue(spec.options.optimizer)),
        kernel_(SelectKernel(spec.options.optimizer)),
        initializer_(spec.options.initializer, spec.options.seed, spec.name),
        slabs_((dim_ + states_) * sizeof(float)) {}

  const TableSpec& spec() const override { return spec_; }
  void Pull(std::span<const Key> keys, std::span<float> rows) const override;
  Status Push(std::span<const Key> keys, std::span<const float> gradients) override;
  uint64_t row_count() const override { return row_count_; }
  uint64_t memory_bytes() const override {
    return sizeof(*this) + slabs_.memory_bytes() + index_.memory_bytes() + slots_.capacity() * sizeof(uint32_t);
  }
  void ForEachRow(const std::function<void(const RowView&)>& visit) const override;
  Status Insert(const RowView& row) override;

 private:
  // Calls visit(i, slot or kAbsent) for every key in order, with cache misses of later keys under way meanwhile: those
  // of the index, and if `and_rows` those of the rows.
  template <bool and_rows, typename Visit>
  void ForEachSlot(std::span<const Key> keys, Visit&& visit) const;
  void PrefetchRow(uint32_t slot) const;
  Status CheckFinite(std::span<const Key> keys, std::span<const float> gradients) const;
  // Nothing is created unless there is room for `count` more rows.
  Status ReserveRows(uint64_t count);
  // The slot of an absent key, its row uninitialized.
  StatusOr<uint32_t> AddRow(Key key, uint64_t hash);
  Status NoMemory() const;

  const TableSpec spec_;
  const size_t dim_;
  const size_t states_;  // floats of optimizer state per row
  const RowKernel kernel_;
  const RowInitializer initializer_;
  RowSlabs slabs_;
  RowIndex index_;
  uint64_t row_count_ = 0;
  std::vector<uint32_t> slots_;  // of the batch under way; kept to save its allocation
};

void SlabTableStore::PrefetchRow(uint32_t slot) const {
  const auto* row = reinterpret_cast<const std::byte*>(slabs_.Row(slot));
  const uint64_t bytes = std::min(slabs_.stride(), kPrefetchBytesMax);
  for (uint64_t offset = 0; offset < bytes; offset += kCacheLine) __builtin_prefetch(row + offset);
}

template <bool and_rows, typename Visit>
void SlabTableStore::ForEachSlot(std::span<const Key> keys, Visit&& visit) const {
  // Three stages: ask for the index bucket; kIndexAhead keys later look the slot up and ask for the row; kRowsAhead
  // keys later visit it.
  std::array<uint64_t, kIndexAhead> hashes;
  std::array<uint32_t, kRowsAhead> slots;
  const size_t n = keys.size();
  for (size_t i = 0; i < n + kIndexAhead + kRowsAhead; ++i) {
    if (i >= kIndexAhead + kRowsAhead) {
      const size_t k = i - kIndexAhead - kRowsAhead;
      visit(k, slots[k % kRowsAhead]);
    }
    if (i >= kIndexAhead && i - kIndexAhead < n) {
      const size_t k = i - kIndexAhead;
      const uint32_t slot = index_.Find(keys[k], hashes[k % kIndexAhead]);
      slots[k % kRowsAhead] = slot;
      if (and_rows && slot != RowIndex::kAbsent) PrefetchRow(slot);
    }
    if (i < n) {
      const uint64_t hash = RowIndex::Hash(keys[i]);
      hashes[i % kIndexAhead] = hash;
      index_.Prefetch(hash);
    }
  }
}

void SlabTableStore::Pull(std::span<const Key> keys, std::span<float> rows) const {
  ATTUNE_CHECK(rows.size() == keys.size() * dim_) << rows.size() << " values for " << keys.size() << " keys";
  ForEachSlot<true>(keys, [&](size_t i, uint32_t slot) {
    const std::span<float> row = rows.subspan(i * dim_, dim_);
    if (slot == RowIndex::kAbsent) {
      initializer_.Fill(keys[i], row);
    } else {
      std::memcpy(row.data(), slabs_.Row(slot), dim_ * sizeof(float));
    }
  });
}

Status SlabTableStore::CheckFinite(std::span<const Key> keys, std::span<const float> gradients) const {
  if (kernel_.all_finite(gradients.data(), gradients.size())) return OkStatus();
  size_t i = 0;
  while (kernel_.all_finite(gradients.data() + i * dim_, dim_)) ++i;
  return Error(StatusCode::kInvalidArgument, "the gradient of key " + std::to_string(keys[i]) + " of table '" +
                                                 spec_.name +
                                                 "' is not finite; nothing of this push is applied. Lower the learning "
                                                 "rate or clip gradients");
}

Status SlabTableStore::NoMemory() const {
  return Error(StatusCode::kResourceExhausted, "no memory for more rows of table '" + spec_.name + "', which has " +
                                                   std::to_string(row_count_) +
                                                   "; give the servers more memory or start more of them");
}

Status SlabTableStore::ReserveRows(uint64_t count) {
  const uint64_t rows_max =
      spec_.options.rows_max == 0 ? RowIndex::kRowsMax : std::min(spec_.options.rows_max, RowIndex::kRowsMax);
  if (count > rows_max - std::min(row_count_, rows_max)) {
    return Error(StatusCode::kResourceExhausted, "table '" + spec_.name + "' has " + std::to_string(row_count_) +
                                                     " rows here and may have " + std::to_string(rows_max) + "; " +
                                                     std::to_string(count) +
                                                     " more are refused. Raise rows_max or start more servers");
  }
  return slabs_.Reserve(row_count_ + count) ? OkStatus() : NoMemory();
}

StatusOr<uint32_t> SlabTableStore::AddRow(Key key, uint64_t hash) {
  const auto slot = static_cast<uint32_t>(row_count_);
  try {
    index_.Insert(key, hash, slot);
  } catch (const std::bad_alloc&) {
    return NoMemory();
  }
  slabs_.Side(slot) = {.row_counter = 0};
  ++row_count_;
  return slot;
}

Status SlabTableStore::Push(std::span<const Key> keys, std::span<const float> gradients) {
  if (gradients.size() != keys.size() * dim_) {
    return Error(StatusCode::kInvalidArgument,
                 "a push to table '" + spec_.name + "' has " + std::to_string(gradients.size()) + " values for " +
                     std::to_string(keys.size()) + " keys of dim " + std::to_string(dim_));
  }
  RETURN_IF_ERROR(CheckFinite(keys, gradients));
  slots_.resize(keys.size());
  uint64_t absent = 0;
  ForEachSlot<false>(keys, [&](size_t i, uint32_t slot) {
    slots_[i] = slot;
    absent += slot == RowIndex::kAbsent ? 1 : 0;
  });
  if (absent > 0) {
    RETURN_IF_ERROR(ReserveRows(absent));
    for (size_t i = 0; i < keys.size(); ++i) {
      if (slots_[i] != RowIndex::kAbsent) continue;
      const uint64_t hash = RowIndex::Hash(keys[i]);
      slots_[i] = index_.Find(keys[i], hash);  // present now only if a peer sent the key twice
      if (slots_[i] != RowIndex::kAbsent) continue;
      ASSIGN_OR_RETURN(slots_[i], AddRow(keys[i], hash));
      float* row = slabs_.Row(slots_[i]);
      initializer_.Fill(keys[i], {row, dim_});
      InitializeState(spec_.options.optimizer, row + dim_, dim_);
    }
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i + kRowsAhead < keys.size()) {
      PrefetchRow(slots_[i + kRowsAhead]);
      __builtin_prefetch(&slabs_.Side(slots_[i + kRowsAhead]));
    }
    float* row = slabs_.Row(slots_[i]);
    kernel_.update(kernel_.settings, row, row + dim_, gradients.data() + i * dim_, dim_);
    ++slabs_.Side(slots_[i]).row_counter;
  }
  return OkStatus();
}

void SlabTableStore::ForEachRow(const std::function<void(const RowView&)>& visit) const {
  index_.ForEach([&](Key key, uint32_t slot) {
    const float* row = slabs_.Row(slot);
    visit({.key = key,
           .row_counter = slabs_.Side(slot).row_counter,
           .values = {row, dim_},
           .state = {row + dim_, states_}});
  });
}

Status SlabTableStore::Insert(const RowView& row) {
  if (row.values.size() != dim_ || row.state.size() != states_) {
    return Error(StatusCode::kInvalidArgument,
                 "row " + std::to_string(row.key) + " has " + std::to_string(row.values.size()) + " values and " +
                     std::to_string(row.state.size()) + " of optimizer state; table '" + spec_.name + "' has " +
                     std::to_string(dim_) + " and " + std::to_string(states_));
  }
  const uint64_t hash = RowIndex::Hash(row.key);
  uint32_t slot = index_.Find(row.key, hash);
  if (slot == RowIndex::kAbsent) {
    RETURN_IF_ERROR(ReserveRows(1));
    ASSIGN_OR_RETURN(slot, AddRow(row.key, hash));
  }
  slabs_.Side(slot).row_counter = row.row_counter;
  // The view may be of this very row.
  std::memmove(slabs_.Row(slot), row.values.data(), row.values.size_bytes());
  if (states_ > 0) std::memmove(slabs_.Row(slot) + dim_, row.state.data(), row.state.size_bytes());
  return OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<TableStore>> TableStore::Create(const TableSpec& spec) {
  RETURN_IF_ERROR(Validate(spec));
  return std::make_unique<SlabTableStore>(spec);
}

}  // namespace attune::ps
