// (table, key) -> value: open addressing, no allocation per entry, erasing leaves no gaps. The order of ForEach follows
// from the operations alone, so runs from one seed repeat.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

struct TableKey {
  TableId table;
  Key key = 0;
  auto operator<=>(const TableKey&) const = default;
};

// A loop that looks up many keys prefetches the entry of the key that is so many ahead: a cache miss costs more than
// the rest of the lookup.
inline constexpr size_t kPrefetchDistance = 8;

template <typename Value>
class KeyMap {
 public:
  size_t size() const { return used_; }
  bool empty() const { return used_ == 0; }

  void Clear() {
    if (used_ == 0) return;
    for (Slot& slot : slots_) slot = Slot{};
    used_ = 0;
  }

  // nullptr when absent. Pointers hold until the next change.
  Value* Find(TableKey key) {
    if (used_ == 0) return nullptr;
    for (size_t i = StartOf(key);; i = (i + 1) & mask()) {
      Slot& slot = slots_[i];
      if (slot.table == 0) return nullptr;
      if (slot.key == key.key && slot.table == key.table.value()) return &slot.value;
    }
  }
  const Value* Find(TableKey key) const { return const_cast<KeyMap*>(this)->Find(key); }
  bool Contains(TableKey key) const { return Find(key) != nullptr; }

  // Asks for the memory of this key's entry to be in the cache soon; see kPrefetchDistance.
  void PrefetchEntry(TableKey key) const {
    if (used_ > 0) __builtin_prefetch(&slots_[StartOf(key)]);
  }

  // The value of `key`, new ones default-constructed; second: whether it is new.
  std::pair<Value*, bool> Insert(TableKey key) {
    if ((used_ + 1) * 4 > slots_.size() * 3) Grow();
    for (size_t i = StartOf(key);; i = (i + 1) & mask()) {
      Slot& slot = slots_[i];
      if (slot.table == 0) {
        slot.table = key.table.value();
        slot.key = key.key;
        ++used_;
        return {&slot.value, true};
      }
      if (slot.key == key.key && slot.table == key.table.value()) return {&slot.value, false};
    }
  }
  Value& operator[](TableKey key) { return *Insert(key).first; }

  bool Erase(TableKey key) {
    if (used_ == 0) return false;
    size_t gap = StartOf(key);
    while (!(slots_[gap].key == key.key && slots_[gap].table == key.table.value())) {
      if (slots_[gap].table == 0) return false;
      gap = (gap + 1) & mask();
    }
    for (size_t i = (gap + 1) & mask(); slots_[i].table != 0; i = (i + 1) & mask()) {
      const size_t start = StartOf({TableId(slots_[i].table), slots_[i].key});
      if (((i - start) & mask()) < ((i - gap) & mask())) continue;  // it may not move before its start
      slots_[gap] = std::move(slots_[i]);
      gap = i;
    }
    slots_[gap] = Slot{};
    --used_;
    return true;
  }

  template <typename Visitor>
  void ForEach(Visitor&& visit) {
    for (Slot& slot : slots_) {
      if (slot.table != 0) visit(TableKey{TableId(slot.table), slot.key}, slot.value);
    }
  }
  // Of the next `slots` slots, beginning where the last call has ended, and from the end on at the beginning again. The
  // visitor changes nothing in the map.
  template <typename Visitor>
  void VisitNext(size_t slots, Visitor&& visit) {
    for (size_t i = 0; i < std::min(slots, slots_.size()); ++i) {
      next_ = (next_ + 1) & mask();
      Slot& slot = slots_[next_];
      if (slot.table != 0) visit(TableKey{TableId(slot.table), slot.key}, slot.value);
    }
  }
  template <typename Visitor>
  void ForEach(Visitor&& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.table != 0) visit(TableKey{TableId(slot.table), slot.key}, slot.value);
    }
  }

 private:
  struct Slot {
    Key key = 0;
    uint32_t table = 0;  // 0: free
    Value value{};
  };
  static constexpr size_t kSlotsMin = 16;
  size_t mask() const { return slots_.size() - 1; }
  size_t StartOf(TableKey key) const { return SplitMix64(key.key ^ (uint64_t{key.table.value()} << 40)) & mask(); }
  void Grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.empty() ? kSlotsMin : old.size() * 2, Slot{});
    used_ = 0;
    for (Slot& slot : old) {
      if (slot.table != 0) *Insert({TableId(slot.table), slot.key}).first = std::move(slot.value);
    }
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
  size_t next_ = 0;  // of VisitNext
};

}  // namespace attune::ps
