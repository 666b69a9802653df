// Which slot of a table's memory the next row takes: one whose row was erased, or the first that was never used. The
// erased ones are a list through their own memory, so it costs none. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ps/store/row_index.h"
#include "ps/store/row_slabs.h"

namespace attune::ps {

class FreeSlots {
 public:
  // Memory for slots below this number holds `rows` more.
  uint64_t EndWith(uint64_t rows) const { return end_ + rows - std::min(rows, erased_); }
  uint32_t next() const { return erased_ > 0 ? head_ : end_; }
  // next() has a row from now on. Its memory in `slabs` must be there and untouched since it was freed.
  void TakeNext(const RowSlabs& slabs) {
    if (erased_ > 0) {
      std::memcpy(&head_, slabs.Row(head_), sizeof head_);
      --erased_;
    } else {
      ++end_;
    }
  }
  // The row of this slot is erased; its memory is overwritten.
  void Free(uint32_t slot, const RowSlabs& slabs) {
    std::memcpy(slabs.Row(slot), &head_, sizeof head_);
    head_ = slot;
    ++erased_;
  }

 private:
  uint32_t end_ = 0;     // this and higher slots have never been used
  uint64_t erased_ = 0;  // in the list
  uint32_t head_ = RowIndex::kAbsent;
};

}  // namespace attune::ps
