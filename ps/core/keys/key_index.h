// Flat hash structures for the paths that run once per key: no allocation per key, memory reused between batches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/row_messages.h"
#include "ps/types/key.h"

namespace attune::ps {

// Scratch map key -> number, emptied in O(1).
class KeySet {
 public:
  // Empties the set and makes room for `keys` entries.
  void Start(size_t keys);
  // The number stored with `key`; `value` is stored when the key is new.
  uint32_t FindOrInsert(Key key, uint32_t value) {
    for (size_t i = SplitMix64(key) & mask_;; i = (i + 1) & mask_) {
      Slot& slot = slots_[i];
      if (slot.generation != generation_) {
        slot = {.key = key, .value = value, .generation = generation_};
        return value;
      }
      if (slot.key == key) return slot.value;
    }
  }

 private:
  struct Slot {
    Key key;
    uint32_t value;
    uint32_t generation;
  };
  std::vector<Slot> slots_;
  size_t mask_ = 0;
  uint32_t generation_ = 0;
};

// Which open pushes touch a key: (table, key) -> (sequence, position), oldest first.
class UnacknowledgedKeys {
 public:
  void Add(TableId table, Key key, SequenceNumber sequence, uint32_t position);
  void Remove(TableId table, Key key, SequenceNumber sequence);
  // Appends an After for every open push on `key`.
  void Find(TableId table, Key key, uint32_t key_index, std::vector<After>& after) const;
  bool Contains(TableId table, Key key) const;
  bool empty() const { return used_ == 0; }

 private:
  static constexpr uint32_t kNone = ~0U;
  struct Slot {
    Key key = 0;
    TableId table;          // 0: free
    uint32_t head = kNone;  // list of entries
    uint32_t tail = kNone;
  };
  struct Entry {
    SequenceNumber sequence;
    uint32_t position;
    uint32_t next;
  };

  size_t StartOf(TableId table, Key key) const {
    return SplitMix64(key ^ (uint64_t{table.value()} << 40)) & (slots_.size() - 1);
  }
  void Grow();
  void Erase(size_t slot);  // closes the gap by shifting back

  std::vector<Slot> slots_;
  size_t used_ = 0;
  std::vector<Entry> entries_;
  uint32_t free_ = kNone;
};

}  // namespace attune::ps
