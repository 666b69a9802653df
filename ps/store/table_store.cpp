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
  uint64_t row_count() const override { return row_count_; }
  uint64_t memory_bytes() const override {
    return sizeof(*this) + slabs_.memory_bytes() + index_.memory_bytes() + slots_.capacity() * sizeof(uint32_t) +
           created_.capacity() * sizeof(Key);
  }
  using TableStore::Pull, TableStore::Push, TableStore::Insert, TableStore::Contains;
  void Pull(std::span<const Key> keys, std::span<float> rows, std::span<RowVersion> versions) const override;
  StatusOr<PushResult> Push(std::span<const Key> keys, std::span<const float> gradients,
                            const PushOptions& options) override;
  uint64_t Contains(std::span<const Key> keys, std::span<uint64_t> present) const override;
  uint64_t VisitRows(std::span<const Key> keys, const std::function<void(const RowView&)>& visit) const override;
  Status Insert(std::span<const RowView> rows) override;
  Status CreateRows(std::span<const Key> keys, RowVersion version) override;
  uint64_t Erase(std::span<const Key> keys) override;
  uint64_t RaiseEra(std::span<const Key> keys, uint16_t era) override;
  void ForEachRow(const std::function<void(const RowView&)>& visit) const override;
  void ForEachKey(HashRange range, const std::function<void(Key)>& visit) const override;

 private:
  // Which cache misses of later keys are under way while earlier ones are visited, beside those of the index.
  enum class Prefetch { kIndex, kSide, kRow, kRowAndSide };
  // Calls visit(i, slot or kAbsent) for every key in order.
  template <Prefetch what, typename Visit>
  void ForEachSlot(std::span<const Key> keys, Visit&& visit) const;
  template <Prefetch what>
  void PrefetchSlot(uint32_t slot) const;
  RowView ViewOf(Key key, uint32_t slot) const;
  Status CheckFinite(std::span<const Key> keys, std::span<const float> gradients) const;
  // Fills slots_ for the keys; those of absent ones get initialized rows of this version. All or nothing.
  Status FindOrCreate(std::span<const Key> keys, RowVersion version);
  // Nothing is created unless there is room for `count` more rows.
  Status ReserveRows(uint64_t count);
  // The slot of an absent key, its row uninitialized. Requires ReserveRows; kAbsent when the index finds no memory.
  uint32_t AddRow(Key key, uint64_t hash, RowVersion version);
  bool EraseRow(Key key);
  Status NoMemory() const;

  const TableSpec spec_;
  const size_t dim_;
  const size_t states_;  // floats of optimizer state per row
  const RowKernel kernel_;
  const RowInitializer initializer_;
  RowSlabs slabs_;
  RowIndex index_;
  uint64_t row_count_ = 0;
  uint32_t slots_end_ = 0;   // this and higher slots have never been used
  uint64_t free_count_ = 0;  // slots of erased rows: a list through the rows themselves
  uint32_t free_head_ = RowIndex::kAbsent;
  std::vector<uint32_t> slots_;  // of the batch under way; kept to save its allocation
  std::vector<Key> created_;     // likewise
};

template <SlabTableStore::Prefetch what>
void SlabTableStore::PrefetchSlot(uint32_t slot) const {
  if constexpr (what == Prefetch::kSide || what == Prefetch::kRowAndSide) __builtin_prefetch(&slabs_.Side(slot));
  if constexpr (what == Prefetch::kRow || what == Prefetch::kRowAndSide) {
    const auto* row = reinterpret_cast<const std::byte*>(slabs_.Row(slot));
    const uint64_t bytes = std::min(slabs_.stride(), kPrefetchBytesMax);
    for (uint64_t offset = 0; offset < bytes; offset += kCacheLine) __builtin_prefetch(row + offset);
  }
}

template <SlabTableStore::Prefetch what, typename Visit>
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
      if (slot != RowIndex::kAbsent) PrefetchSlot<what>(slot);
    }
    if (i < n) {
      const uint64_t hash = RowIndex::Hash(keys[i]);
      hashes[i % kIndexAhead] = hash;
      index_.Prefetch(hash);
    }
  }
}

void SlabTableStore::Pull(std::span<const Key> keys, std::span<float> rows, std::span<RowVersion> versions) const {
  ATTUNE_CHECK(rows.size() == keys.size() * dim_) << rows.size() << " values for " << keys.size() << " keys";
  ATTUNE_CHECK(versions.empty() || versions.size() == keys.size()) << versions.size() << " places for versions";
  const auto copy = [&](size_t i, uint32_t slot) {
    const std::span<float> row = rows.subspan(i * dim_, dim_);
    if (slot == RowIndex::kAbsent) {
      initializer_.Fill(keys[i], row);
    } else {
      std::memcpy(row.data(), slabs_.Row(slot), dim_ * sizeof(float));
    }
  };
  if (versions.empty()) return ForEachSlot<Prefetch::kRow>(keys, copy);
  ForEachSlot<Prefetch::kRowAndSide>(keys, [&](size_t i, uint32_t slot) {
    versions[i] = slot == RowIndex::kAbsent ? RowVersion() : slabs_.Side(slot).version();
    copy(i, slot);
  });
}

uint64_t SlabTableStore::Contains(std::span<const Key> keys, std::span<uint64_t> present) const {
  ATTUNE_CHECK(present.size() * 64 >= keys.size()) << present.size() << " words for " << keys.size() << " keys";
  uint64_t count = 0;
  std::ranges::fill(present, 0);
  ForEachSlot<Prefetch::kIndex>(keys, [&](size_t i, uint32_t slot) {
    const uint64_t found = slot == RowIndex::kAbsent ? 0 : 1;
    present[i / 64] |= found << (i % 64);
    count += found;
  });
  return count;
}

RowView SlabTableStore::ViewOf(Key key, uint32_t slot) const {
  const float* row = slabs_.Row(slot);
  const SideRecord& side = slabs_.Side(slot);
  return {.key = key,
          .version = side.version(),
          .move_number = side.move_number,
          .values = {row, dim_},
          .state = {row + dim_, states_}};
}

uint64_t SlabTableStore::VisitRows(std::span<const Key> keys, const std::function<void(const RowView&)>& visit) const {
  uint64_t visited = 0;
  ForEachSlot<Prefetch::kRowAndSide>(keys, [&](size_t i, uint32_t slot) {
    if (slot == RowIndex::kAbsent) return;
    visit(ViewOf(keys[i], slot));
    ++visited;
  });
  return visited;
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
  return slabs_.Reserve(slots_end_ + count - std::min(count, free_count_)) ? OkStatus() : NoMemory();
}

uint32_t SlabTableStore::AddRow(Key key, uint64_t hash, RowVersion version) {
  const uint32_t slot = free_count_ > 0 ? free_head_ : slots_end_;
  try {
    index_.Insert(key, hash, slot);
  } catch (const std::bad_alloc&) {
    return RowIndex::kAbsent;
  }
  if (free_count_ > 0) {
    std::memcpy(&free_head_, slabs_.Row(slot), sizeof free_head_);
    --free_count_;
  } else {
    ++slots_end_;
  }
  SideRecord& side = slabs_.Side(slot);
  side = {};
  side.set_version(version);
  ++row_count_;
  return slot;
}

bool SlabTableStore::EraseRow(Key key) {
  const uint32_t slot = index_.Erase(key, RowIndex::Hash(key));
  if (slot == RowIndex::kAbsent) return false;
  std::memcpy(slabs_.Row(slot), &free_head_, sizeof free_head_);
  free_head_ = slot;
  ++free_count_;
  --row_count_;
  return true;
}

Status SlabTableStore::FindOrCreate(std::span<const Key> keys, RowVersion version) {
  slots_.resize(keys.size());
  uint64_t absent = 0;
  ForEachSlot<Prefetch::kIndex>(keys, [&](size_t i, uint32_t slot) {
    slots_[i] = slot;
    absent += slot == RowIndex::kAbsent ? 1 : 0;
  });
  if (absent == 0) return OkStatus();
  RETURN_IF_ERROR(ReserveRows(absent));
  created_.clear();
  created_.reserve(absent);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (slots_[i] != RowIndex::kAbsent) continue;
    const uint64_t hash = RowIndex::Hash(keys[i]);
    slots_[i] = index_.Find(keys[i], hash);  // present now only if a key was sent twice
    if (slots_[i] != RowIndex::kAbsent) continue;
    slots_[i] = AddRow(keys[i], hash, version);
    if (slots_[i] == RowIndex::kAbsent) {
      for (const Key created : created_) EraseRow(created);
      return NoMemory();
    }
    created_.push_back(keys[i]);
    float* row = slabs_.Row(slots_[i]);
    initializer_.Fill(keys[i], {row, dim_});
    InitializeState(spec_.options.optimizer, row + dim_, dim_);
  }
  return OkStatus();
}

StatusOr<PushResult> SlabTableStore::Push(std::span<const Key> keys, std::span<const float> gradients,
                                          const PushOptions& options) {
  if (gradients.size() != keys.size() * dim_) {
    return Error(StatusCode::kInvalidArgument,
                 "a push to table '" + spec_.name + "' has " + std::to_string(gradients.size()) + " values for " +
                     std::to_string(keys.size()) + " keys of dim " + std::to_string(dim_));
  }
  ATTUNE_CHECK(options.versions.empty() || options.versions.size() == keys.size())
      << options.versions.size() << " places for versions";
  RETURN_IF_ERROR(CheckFinite(keys, gradients));
  RETURN_IF_ERROR(FindOrCreate(keys, RowVersion()));
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i + kRowsAhead < keys.size()) PrefetchSlot<Prefetch::kRowAndSide>(slots_[i + kRowsAhead]);
    float* row = slabs_.Row(slots_[i]);
    kernel_.update(kernel_.settings, row, row + dim_, gradients.data() + i * dim_, dim_);
    SideRecord& side = slabs_.Side(slots_[i]);
    const RowVersion version = side.version().Next();
    side.set_version(version);
    if (!options.versions.empty()) options.versions[i] = version;
  }
  return PushResult{};
}

Status SlabTableStore::Insert(std::span<const RowView> rows) {
  std::vector<Key> keys;
  keys.reserve(rows.size());
  for (const RowView& row : rows) {
    if (row.values.size() != dim_ || row.state.size() != states_) {
      return Error(StatusCode::kInvalidArgument,
                   "row " + std::to_string(row.key) + " has " + std::to_string(row.values.size()) + " values and " +
                       std::to_string(row.state.size()) + " of optimizer state; table '" + spec_.name + "' has " +
                       std::to_string(dim_) + " and " + std::to_string(states_));
    }
    keys.push_back(row.key);
  }
  RETURN_IF_ERROR(FindOrCreate(keys, RowVersion()));
  for (size_t i = 0; i < rows.size(); ++i) {
    const RowView& row = rows[i];
    SideRecord& side = slabs_.Side(slots_[i]);
    side.set_version(row.version);
    side.move_number = row.move_number;
    // The view may be of this very row.
    std::memmove(slabs_.Row(slots_[i]), row.values.data(), row.values.size_bytes());
    if (states_ > 0) std::memmove(slabs_.Row(slots_[i]) + dim_, row.state.data(), row.state.size_bytes());
  }
  return OkStatus();
}

Status SlabTableStore::CreateRows(std::span<const Key> keys, RowVersion version) { return FindOrCreate(keys, version); }

uint64_t SlabTableStore::Erase(std::span<const Key> keys) {
  uint64_t erased = 0;
  for (const Key key : keys) erased += EraseRow(key) ? 1 : 0;
  return erased;
}

uint64_t SlabTableStore::RaiseEra(std::span<const Key> keys, uint16_t era) {
  uint64_t present = 0;
  ForEachSlot<Prefetch::kSide>(keys, [&](size_t, uint32_t slot) {
    if (slot == RowIndex::kAbsent) return;
    SideRecord& side = slabs_.Side(slot);
    const RowVersion version = side.version();
    if (version.era() < era) side.set_version(RowVersion(era, version.counter()));
    side.move_number = 0;
    ++present;
  });
  return present;
}

void SlabTableStore::ForEachRow(const std::function<void(const RowView&)>& visit) const {
  index_.ForEach([&](Key key, uint32_t slot) { visit(ViewOf(key, slot)); });
}

void SlabTableStore::ForEachKey(HashRange range, const std::function<void(Key)>& visit) const {
  index_.ForEach([&](Key key, uint32_t) {
    const auto hash = static_cast<uint32_t>(RowIndex::Hash(key) >> 32);
    if (range.first <= hash && hash <= range.last) visit(key);
  });
}

}  // namespace

StatusOr<std::unique_ptr<TableStore>> TableStore::Create(const TableSpec& spec) {
  RETURN_IF_ERROR(Validate(spec));
  return std::make_unique<SlabTableStore>(spec);
}

}  // namespace attune::ps
