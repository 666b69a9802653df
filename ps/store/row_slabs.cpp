#include "ps/store/row_slabs.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace attune::ps {
namespace {

constexpr uint64_t kCacheLine = 64;
constexpr uint64_t kHugePage = 2ULL << 20;
constexpr uint64_t kSlabBytes = kHugePage;

uint64_t RoundUp(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

uint64_t StrideOf(uint64_t row_bytes) {
  return row_bytes < kCacheLine ? std::bit_ceil(row_bytes) : RoundUp(row_bytes, kCacheLine);
}

}  // namespace

RowSlabs::RowSlabs(uint64_t row_bytes) : stride_(StrideOf(row_bytes)) {
  const uint64_t rows = std::bit_floor(std::max<uint64_t>(1, kSlabBytes / stride_));
  shift_ = static_cast<uint32_t>(std::countr_zero(rows));
  mask_ = rows - 1;
}

bool RowSlabs::Reserve(uint64_t slots) {
  while (slabs_.size() * rows_per_slab() < slots) {
    const bool is_huge = slab_bytes() >= kHugePage;
    const uint64_t alignment = is_huge ? kHugePage : kCacheLine;
    Slab slab;
    slab.rows.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, RoundUp(slab_bytes(), alignment))));
    slab.side.reset(new (std::nothrow) SideRecord[rows_per_slab()]);
    if (!slab.rows || !slab.side) return false;
    if (is_huge) ::madvise(slab.rows.get(), slab_bytes(), MADV_HUGEPAGE);  // a wish; refusal costs speed only
    slabs_.push_back(std::move(slab));
  }
  return true;
}

uint64_t RowSlabs::memory_bytes() const {
  return slabs_.size() * (slab_bytes() + rows_per_slab() * sizeof(SideRecord)) + slabs_.capacity() * sizeof(Slab);
}

}  // namespace attune::ps
