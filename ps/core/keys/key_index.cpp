#include "ps/core/keys/key_index.h"

#include <algorithm>
#include <bit>

namespace attune::ps {
namespace {

constexpr size_t kSlotsMin = 64;

}  // namespace

void KeySet::Start(size_t keys) {
  // A quarter full at most: the search of a new key nearly always ends at once, and the processor guesses so.
  const size_t slots = std::bit_ceil(std::max(kSlotsMin, keys * 4));
  if (slots > slots_.size()) {
    slots_.assign(slots, Slot{});
    generation_ = 0;
  }
  mask_ = slots - 1;
  if (++generation_ == 0) {  // wrapped: stamps of 2^32 batches ago would count as present
    std::ranges::fill(slots_, Slot{});
    generation_ = 1;
  }
}

void UnacknowledgedKeys::Grow() {
  std::vector<Slot> old = std::move(slots_);
  slots_.assign(std::max(kSlotsMin, old.size() * 2), Slot{});
  for (const Slot& slot : old) {
    if (slot.table == TableId()) continue;
    size_t i = StartOf(slot.table, slot.key);
    while (slots_[i].table != TableId()) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = slot;
  }
}

void UnacknowledgedKeys::Add(TableId table, Key key, SequenceNumber sequence, uint32_t position) {
  if ((used_ + 1) * 4 > slots_.size() * 3) Grow();
  uint32_t index = free_;
  if (index == kNone) {
    index = static_cast<uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    free_ = entries_[index].next;
  }
  entries_[index] = {.sequence = sequence, .position = position, .next = kNone};

  size_t i = StartOf(table, key);
  while (slots_[i].table != TableId() && (slots_[i].table != table || slots_[i].key != key)) {
    i = (i + 1) & (slots_.size() - 1);
  }
  Slot& slot = slots_[i];
  if (slot.table == TableId()) {
    slot = {.key = key, .table = table, .head = index, .tail = index};
    ++used_;
  } else {
    entries_[slot.tail].next = index;
    slot.tail = index;
  }
}

void UnacknowledgedKeys::Remove(TableId table, Key key, SequenceNumber sequence) {
  if (slots_.empty()) return;
  size_t i = StartOf(table, key);
  while (slots_[i].table != table || slots_[i].key != key) {
    if (slots_[i].table == TableId()) return;
    i = (i + 1) & (slots_.size() - 1);
  }
  Slot& slot = slots_[i];
  uint32_t before = kNone;
  for (uint32_t entry = slot.head; entry != kNone; before = entry, entry = entries_[entry].next) {
    if (entries_[entry].sequence != sequence) continue;
    const uint32_t next = entries_[entry].next;
    (before == kNone ? slot.head : entries_[before].next) = next;
    if (slot.tail == entry) slot.tail = before;
    entries_[entry].next = free_;
    free_ = entry;
    if (slot.head == kNone) Erase(i);
    return;
  }
}

void UnacknowledgedKeys::Erase(size_t hole) {
  const size_t mask = slots_.size() - 1;
  --used_;
  for (size_t i = (hole + 1) & mask; slots_[i].table != TableId(); i = (i + 1) & mask) {
    // An entry may fill the hole when its search starts at or before the hole.
    if (((i - StartOf(slots_[i].table, slots_[i].key)) & mask) >= ((i - hole) & mask)) {
      slots_[hole] = slots_[i];
      hole = i;
    }
  }
  slots_[hole] = Slot{};
}

bool UnacknowledgedKeys::Contains(TableId table, Key key) const {
  if (used_ == 0) return false;
  for (size_t i = StartOf(table, key); slots_[i].table != TableId(); i = (i + 1) & (slots_.size() - 1)) {
    if (slots_[i].table == table && slots_[i].key == key) return true;
  }
  return false;
}

void UnacknowledgedKeys::Find(TableId table, Key key, uint32_t key_index, std::vector<After>& after) const {
  if (used_ == 0) return;
  size_t i = StartOf(table, key);
  while (slots_[i].table != table || slots_[i].key != key) {
    if (slots_[i].table == TableId()) return;
    i = (i + 1) & (slots_.size() - 1);
  }
  for (uint32_t entry = slots_[i].head; entry != kNone; entry = entries_[entry].next) {
    after.push_back(
        {.sequence = entries_[entry].sequence, .position = entries_[entry].position, .key_index = key_index});
  }
}

}  // namespace attune::ps
