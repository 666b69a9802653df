// Memory of rows: slabs of a power of two of rows, addressed by slot; each slab has its rows, their side records and,
// for optimizers that want one, a float of state per row. Addresses never change; slabs stay until the end. Slabs of 2
// MiB ask the system for huge pages, which saves a page walk per row; the first one does not, so that a small table
// stays small. Side records and states of many slabs share huge pages for the same reason.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "ps/store/index_arena.h"
#include "ps/store/row_version.h"

namespace attune::ps {

inline constexpr uint64_t kCacheLine = 64;  // bytes

// What a row has beside values and state; 12 bytes, so that the version is kept as two words.
struct SideRecord {
  std::array<uint32_t, 2> version_words;
  uint16_t move_number;
  uint8_t flags;  // RowFlag
  uint8_t lock;   // of stores for several threads

  RowVersion version() const { return RowVersion(std::bit_cast<uint64_t>(version_words)); }
  void set_version(RowVersion version) { version_words = std::bit_cast<std::array<uint32_t, 2>>(version.value()); }
};
static_assert(sizeof(SideRecord) == 12);

class RowSlabs {
 public:
  // `row_bytes`: values and state of one row, > 0.
  RowSlabs(uint64_t row_bytes, bool has_row_state);

  // Makes room for slots below `slots`; false when the system has no memory (room made so far stays).
  bool Reserve(uint64_t slots);
  // What Reserve would take.
  uint64_t BytesToReserve(uint64_t slots) const;

  std::byte* Row(uint32_t slot) const { return slabs_[slot >> shift_].rows.get() + (slot & mask_) * stride_; }
  SideRecord& Side(uint32_t slot) const { return slabs_[slot >> shift_].side[slot & mask_]; }
  // null unless has_row_state
  float* RowState(uint32_t slot) const {
    float* states = slabs_[slot >> shift_].row_state;
    return states == nullptr ? nullptr : states + (slot & mask_);
  }

  uint64_t stride() const { return stride_; }
  uint64_t memory_bytes() const;

 private:
  struct Unmap {
    Unmap() : bytes(0) {}
    explicit Unmap(uint64_t mapped_bytes) : bytes(mapped_bytes) {}
    uint64_t bytes;  // of a mapping; 0: from the allocator
    void operator()(std::byte* p) const;
  };
  struct Slab {
    std::unique_ptr<std::byte, Unmap> rows;
    SideRecord* side = nullptr;  // both in arena_
    float* row_state = nullptr;
  };

  uint64_t rows_per_slab() const { return mask_ + 1; }
  uint64_t slab_bytes() const { return rows_per_slab() * stride_; }
  uint64_t slab_total_bytes() const;
  std::unique_ptr<std::byte, Unmap> AllocateRows() const;

  uint64_t stride_;
  bool has_row_state_;
  uint32_t shift_;
  uint64_t mask_;
  static constexpr uint64_t kSmallBlocks = 8;  // about 1.4 M side records: then 2 MiB more do not weigh
  IndexArena arena_{kSmallBlocks};
  std::vector<Slab> slabs_;
};

}  // namespace attune::ps
