#include "ps/store/row_slabs.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "ps/store/huge_pages.h"

namespace attune::ps {
namespace {

constexpr uint64_t kSlabBytes = kHugePage;
constexpr uint64_t kSlabRowsMax = 32768;  // keeps side records of a slab small when rows are; they fit the arena
constexpr uint64_t kRowBytesMin = 4;      // an erased row holds the number of the next one

uint64_t StrideOf(uint64_t row_bytes) {
  const uint64_t bytes = std::max(row_bytes, kRowBytesMin);
  return bytes < kCacheLine ? std::bit_ceil(bytes) : RoundUpTo(bytes, kCacheLine);
}

}  // namespace

std::byte* MapAligned(uint64_t bytes) {
  const uint64_t larger = bytes + kHugePage;
  void* mapped = ::mmap(nullptr, larger, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(mapped);
  const uint64_t skipped =
      RoundUpTo(reinterpret_cast<uintptr_t>(begin), kHugePage) - reinterpret_cast<uintptr_t>(begin);
  if (skipped > 0) ::munmap(begin, skipped);
  ::munmap(begin + skipped + bytes, kHugePage - skipped);
  return begin + skipped;
}

RowSlabs::RowSlabs(uint64_t row_bytes, bool has_row_state)
    : stride_(StrideOf(row_bytes)), has_row_state_(has_row_state) {
  const uint64_t rows = std::bit_floor(std::clamp<uint64_t>(kSlabBytes / stride_, 1, kSlabRowsMax));
  shift_ = static_cast<uint32_t>(std::countr_zero(rows));
  mask_ = rows - 1;
}

void RowSlabs::Unmap::operator()(std::byte* p) const {
  if (bytes > 0) {
    ::munmap(p, bytes);
  } else {
    std::free(p);
  }
}

std::unique_ptr<std::byte, RowSlabs::Unmap> RowSlabs::AllocateRows() const {
  if (slab_bytes() < kHugePage) {
    return {static_cast<std::byte*>(std::aligned_alloc(kCacheLine, RoundUpTo(slab_bytes(), kCacheLine))), Unmap{}};
  }
  const uint64_t bytes = RoundUpTo(slab_bytes(), kHugePage);
  std::unique_ptr<std::byte, Unmap> rows(MapAligned(bytes), Unmap{bytes});
  if (rows && !slabs_.empty()) ::madvise(rows.get(), bytes, MADV_HUGEPAGE);  // a hint; refusal costs speed only
  return rows;
}

bool RowSlabs::Reserve(uint64_t slots) {
  while (slabs_.size() * rows_per_slab() < slots) {
    Slab slab;
    slab.rows = AllocateRows();
    slab.side = static_cast<SideRecord*>(arena_.Allocate(rows_per_slab() * sizeof(SideRecord)));
    if (has_row_state_) slab.row_state = static_cast<float*>(arena_.Allocate(rows_per_slab() * sizeof(float)));
    if (!slab.rows || !slab.side || (has_row_state_ && !slab.row_state)) return false;
    slabs_.push_back(std::move(slab));
  }
  return true;
}

uint64_t RowSlabs::slab_total_bytes() const {
  return slab_bytes() + rows_per_slab() * (sizeof(SideRecord) + (has_row_state_ ? sizeof(float) : 0));
}

uint64_t RowSlabs::BytesToReserve(uint64_t slots) const {
  const uint64_t room = slabs_.size() * rows_per_slab();
  if (slots <= room) return 0;
  return (slots - room + rows_per_slab() - 1) / rows_per_slab() * slab_total_bytes();
}

uint64_t RowSlabs::memory_bytes() const {
  return slabs_.size() * slab_bytes() + arena_.memory_bytes() + slabs_.capacity() * sizeof(Slab);
}

}  // namespace attune::ps
