// The store of table_store.h, for one thread or for several. Row data lies in RowSlabs, the way to it is RowIndex.
//
// For several threads: `structure_` is held shared by threads that read or update rows that exist, and exclusively by
// threads that add or remove some or visit a piece of a snapshot; a row's lock byte is held while the row is copied or
// updated.
#pragma once

#include <atomic>
#include <shared_mutex>
#include <string>
#include <vector>

#include "ps/store/fold.h"
#include "ps/store/formulas/initializer.h"
#include "ps/store/formulas/optimizer.h"
#include "ps/store/free_slots.h"
#include "ps/store/memory_budget.h"
#include "ps/store/row_index.h"
#include "ps/store/row_layout.h"
#include "ps/store/row_slabs.h"
#include "ps/store/snapshot.h"
#include "ps/store/store_locks.h"
#include "ps/store/table_store.h"

namespace attune::ps {

template <bool kConcurrent>
class SlabTableStore final : public TableStore {
 public:
  SlabTableStore(const TableSpec& spec, const StoreOptions& options);
  ~SlabTableStore() override;

  using TableStore::Pull, TableStore::Push, TableStore::Insert, TableStore::Contains;
  const TableSpec& spec() const override { return spec_; }
  uint64_t row_count() const override { return row_count_.load(std::memory_order_relaxed); }
  uint64_t memory_bytes() const override;
  void Pull(std::span<const Key> keys, std::span<float> rows) const override;
  StatusOr<PushResult> Push(std::span<const Key> keys, std::span<const float> gradients,
                            const PushOptions& options) override;
  bool PullIfPresent(std::span<const Key> keys, std::span<float> rows) const override;
  std::optional<StatusOr<PushResult>> PushIfPresent(std::span<const Key> keys, std::span<const float> gradients,
                                                    const PushOptions& options) override;
  uint64_t Contains(std::span<const Key> keys, std::span<uint64_t> present) const override;
  uint64_t VisitRows(std::span<const Key> keys, const std::function<void(const RowView&)>& visit) const override;
  Status Insert(std::span<const RowView> rows) override;
  Status CreateRows(std::span<const Key> keys, RowVersion version) override;
  uint64_t Erase(std::span<const Key> keys) override;
  uint64_t RaiseEra(std::span<const Key> keys, uint16_t era) override;
  void ForEachRow(const std::function<void(const RowView&)>& visit) const override;
  void ForEachKey(HashRange range, const std::function<void(Key)>& visit) const override;
  Status BeginSnapshot() override;
  bool NextRows(uint64_t rows, const std::function<void(const RowView&, bool changed)>& visit) override;
  void AddToSnapshot(std::span<const RowView> rows) override;
  void EndSnapshot(bool kept) override;
  uint64_t rows_changed() const override;

 private:
  using Mutex = std::conditional_t<kConcurrent, FairSharedMutex, NoMutex>;
  using LockedRow = std::conditional_t<kConcurrent, RowLock, NoRowLock>;
  using Slots = std::vector<uint32_t>;

  // Which cache misses of later keys are in flight while earlier ones are visited, beside those of the index.
  enum class Prefetch { kIndex, kSide, kRow, kRowAndSide };
  static constexpr Prefetch kPullPrefetch = kConcurrent ? Prefetch::kRowAndSide : Prefetch::kRow;
  // Calls visit(i, slot or kAbsent) for every key in order.
  template <Prefetch what, typename Visitor>
  void ForEachSlot(std::span<const Key> keys, Visitor&& visit) const;
  // Inlined always, as RowIndex::Prefetch is.
  template <Prefetch what>
  [[gnu::always_inline]] inline void PrefetchSlot(uint32_t slot) const;

  // Fills `slots`; returns how many keys are absent.
  uint64_t FindSlots(std::span<const Key> keys, Slots& slots) const;
  // Adds rows for the keys without slot; those are initialized if `is_initialized`, else their bytes are anything. All
  // or nothing. The structure is locked.
  Status AddRows(std::span<const Key> keys, RowVersion version, bool is_initialized, Slots& slots);
  Status ReserveRows(std::span<const Key> keys, const Slots& slots);
  uint32_t AddRow(Key key, uint64_t hash, RowVersion version);  // kAbsent when the index finds no memory
  bool EraseRow(Key key);
  void InitializeRow(Key key, uint32_t slot);
  void AccountMemory();

  StatusOr<bool> CheckGradients(std::span<const Key> keys, std::span<const float> gradients, bool is_fold) const;
  size_t WidthOf(const PushOptions& options) const {
    return options.folds.empty() ? layout_.dim() : fold_.fold_floats();
  }
  PushResult Apply(std::span<const Key> keys, std::span<const float> gradients, const PushOptions& options,
                   bool may_skip, const Slots& slots);
  // Before the row of this slot changes or vanishes; the row is locked.
  void BeforeChange(Key key, uint32_t slot, SideRecord& side);
  Status NoMemory(std::span<const Key> keys, const std::string& why) const;

  const TableSpec spec_;
  const RowLayout layout_;
  const RowKernel kernel_;
  const FoldFormula fold_;
  const RowInitializer initializer_;
  MemoryBudget* const budget_;

  mutable Mutex structure_;
  RowSlabs slabs_;
  RowIndex index_;
  std::atomic<uint64_t> row_count_{0};
  FreeSlots free_slots_;
  uint64_t accounted_bytes_ = 0;

  Snapshot snapshot_;
  std::atomic<uint64_t> rows_changed_{0};
  bool all_changed_ = true;
};

}  // namespace attune::ps
