// Small records of rows, found by (table, key); a row may have several. For what there are millions of: a record takes
// its own size and at most 4 bytes more, where KeyMap leaves up to three fifths of its slots empty. Records do not move
// while they are there. Looking at a row costs as much as it has records. The order of what is visited follows from the
// calls alone.
//
// A Record has `Key key`, `uint32_t table` (0: none) and `uint32_t next`, which are set here. Externally synchronized.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

template <typename Record>
class RowChains {
 public:
  // A new record of the row, else default-constructed.
  Record& Add(TableKey row);
  // The first one of the row for which wanted(const Record&); nullptr: none.
  template <typename Wanted>
  Record* Find(TableKey row, Wanted&& wanted) const;
  // visit(Record&) for all of the row.
  template <typename Visit>
  void ForEach(TableKey row, Visit&& visit) const;
  // In a loop over rows, for one that comes soon: see KeyMap::PrefetchEntry. First the chain, later its first record.
  void PrefetchChain(TableKey row) const {
    if (size_ > 0) __builtin_prefetch(&heads_[BucketOf(row)]);
  }
  void PrefetchFirst(TableKey row) const {
    if (size_ == 0) return;
    if (const uint32_t head = heads_[BucketOf(row)]; head != kNone) __builtin_prefetch(&At(head));
  }
  // Forgets those of the row, or of all, for which is_gone(Record&).
  template <typename IsGone>
  void RemoveOf(TableKey row, IsGone&& is_gone);
  template <typename IsGone>
  void Remove(IsGone&& is_gone);

  // Places 0 .. places() - 1 hold all records, and gaps, of which nullptr is returned.
  size_t places() const { return slabs_.size() * kSlabRecords; }
  Record* InPlace(size_t place) const {
    Record& record = At(static_cast<uint32_t>(place));
    return record.table == 0 ? nullptr : &record;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t memory_bytes() const { return slabs_.size() * sizeof(Slab) + heads_.capacity() * sizeof(uint32_t); }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr size_t kSlabRecords = 1024;
  static constexpr size_t kHeadsMin = 16;
  static constexpr size_t kPerHead = 2;  // records, at most, in the mean
  using Slab = std::array<Record, kSlabRecords>;

  static TableKey RowOf(const Record& record) { return {TableId(record.table), record.key}; }
  Record& At(uint32_t place) const { return (*slabs_[place / kSlabRecords])[place % kSlabRecords]; }
  size_t BucketOf(TableKey row) const {
    return SplitMix64(row.key ^ (uint64_t{row.table.value()} << 40)) & (heads_.size() - 1);
  }
  void GrowIndex();
  void AddSlab();
  template <typename IsGone>
  void Unlink(uint32_t& head, IsGone&& is_gone);

  size_t size_ = 0;
  std::vector<uint32_t> heads_;  // chains by bucket; a power of two
  std::vector<std::unique_ptr<Slab>> slabs_;
  uint32_t free_ = kNone;
};

template <typename Record>
Record& RowChains<Record>::Add(TableKey row) {
  if (size_ == kPerHead * heads_.size()) GrowIndex();
  if (free_ == kNone) AddSlab();
  uint32_t& head = heads_[BucketOf(row)];
  const uint32_t place = free_;
  Record& record = At(place);
  free_ = record.next;
  record = Record{};
  record.key = row.key;
  record.table = row.table.value();
  record.next = std::exchange(head, place);
  ++size_;
  return record;
}

template <typename Record>
template <typename Wanted>
Record* RowChains<Record>::Find(TableKey row, Wanted&& wanted) const {
  if (size_ == 0) return nullptr;
  for (uint32_t place = heads_[BucketOf(row)]; place != kNone; place = At(place).next) {
    Record& record = At(place);
    if (RowOf(record) == row && wanted(std::as_const(record))) return &record;
  }
  return nullptr;
}

template <typename Record>
template <typename Visit>
void RowChains<Record>::ForEach(TableKey row, Visit&& visit) const {
  if (size_ == 0) return;
  for (uint32_t place = heads_[BucketOf(row)]; place != kNone; place = At(place).next) {
    if (RowOf(At(place)) == row) visit(At(place));
  }
}

template <typename Record>
template <typename IsGone>
void RowChains<Record>::RemoveOf(TableKey row, IsGone&& is_gone) {
  if (size_ == 0) return;
  Unlink(heads_[BucketOf(row)], [&](Record& record) { return RowOf(record) == row && is_gone(record); });
}

template <typename Record>
template <typename IsGone>
void RowChains<Record>::Remove(IsGone&& is_gone) {
  for (uint32_t& head : heads_) Unlink(head, is_gone);
}

template <typename Record>
template <typename IsGone>
void RowChains<Record>::Unlink(uint32_t& head, IsGone&& is_gone) {
  for (uint32_t* link = &head; *link != kNone;) {
    Record& record = At(*link);
    if (!is_gone(record)) {
      link = &record.next;
      continue;
    }
    const uint32_t place = std::exchange(*link, record.next);
    record = Record{};
    record.next = std::exchange(free_, place);
    --size_;
  }
}

template <typename Record>
void RowChains<Record>::GrowIndex() {
  std::vector<uint32_t> old(std::max(kHeadsMin, 2 * heads_.size()), kNone);
  old.swap(heads_);
  for (uint32_t place : old) {
    while (place != kNone) {
      Record& record = At(place);
      uint32_t& head = heads_[BucketOf(RowOf(record))];
      const uint32_t next = std::exchange(record.next, head);
      head = std::exchange(place, next);
    }
  }
}

template <typename Record>
void RowChains<Record>::AddSlab() {
  const auto first = static_cast<uint32_t>(slabs_.size() * kSlabRecords);
  slabs_.push_back(std::make_unique<Slab>());
  for (uint32_t place = first + kSlabRecords; place-- > first;) At(place).next = std::exchange(free_, place);
}

}  // namespace attune::ps
