// Memory of rows: slabs of a power of two of rows, addressed by slot; each slab has its rows and their side records.
// Addresses never change. Slabs of 2 MiB ask the system for huge pages, which saves a page walk per row.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "ps/store/row_version.h"

namespace attune::ps {

// What a row has beside values and state; 12 bytes, so that the version is kept as two words.
struct SideRecord {
  std::array<uint32_t, 2> version_words;
  uint16_t move_number;
  uint8_t flags;
  uint8_t lock;

  RowVersion version() const { return RowVersion(std::bit_cast<uint64_t>(version_words)); }
  void set_version(RowVersion version) { version_words = std::bit_cast<std::array<uint32_t, 2>>(version.value()); }
};
static_assert(sizeof(SideRecord) == 12);

class RowSlabs {
 public:
  // `row_bytes`: values and state of one row, > 0.
  explicit RowSlabs(uint64_t row_bytes);

  // Makes room for slots below `slots`; false when the system has no memory (room made so far stays).
  bool Reserve(uint64_t slots);

  float* Row(uint32_t slot) const {
    return reinterpret_cast<float*>(slabs_[slot >> shift_].rows.get() + (slot & mask_) * stride_);
  }
  SideRecord& Side(uint32_t slot) const { return slabs_[slot >> shift_].side[slot & mask_]; }

  uint64_t stride() const { return stride_; }
  uint64_t memory_bytes() const;

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  struct Slab {
    std::unique_ptr<std::byte, Free> rows;
    std::unique_ptr<SideRecord[]> side;
  };

  uint64_t rows_per_slab() const { return mask_ + 1; }
  uint64_t slab_bytes() const { return rows_per_slab() * stride_; }

  uint64_t stride_;
  uint32_t shift_;
  uint64_t mask_;
  std::vector<Slab> slabs_;
};

}  // namespace attune::ps
