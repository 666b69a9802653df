#include "ps/store/index_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

#include "base/check.h"
#include "ps/store/huge_pages.h"

namespace attune::ps {
namespace {
constexpr uint64_t UnitsOf(uint64_t bytes) { return (bytes + IndexArena::kUnitBytes - 1) / IndexArena::kUnitBytes; }
}  // namespace

IndexArena::~IndexArena() {
  for (const auto& block : blocks_) ::munmap(block->memory, kBlockBytes);
}

uint64_t IndexArena::FindFree(Block& block, uint64_t units) {
  uint64_t run = 0;
  for (uint64_t unit = block.search_from; unit < kUnits;) {
    const uint64_t word = block.used[unit / 64] >> (unit % 64);
    const uint64_t left = 64 - unit % 64;
    if ((word & 1) != 0) {
      run = 0;
      unit += std::min<uint64_t>(left, static_cast<uint64_t>(std::countr_one(word)));
      continue;
    }
    const uint64_t free = std::min<uint64_t>(left, static_cast<uint64_t>(std::countr_zero(word)));
    run += free;
    unit += free;
    if (run >= units) return unit - run;
  }
  return kUnits;
}

void IndexArena::Mark(Block& block, uint64_t first, uint64_t units, bool used) {
  for (uint64_t unit = first; unit < first + units;) {
    const uint64_t in_word = std::min(64 - unit % 64, first + units - unit);
    const uint64_t mask = (in_word == 64 ? ~uint64_t{0} : (uint64_t{1} << in_word) - 1) << (unit % 64);
    block.used[unit / 64] = used ? block.used[unit / 64] | mask : block.used[unit / 64] & ~mask;
    unit += in_word;
  }
  block.free_units = used ? block.free_units - units : block.free_units + units;
}

void IndexArena::Touch(Block& block, uint64_t end) {
  if (!block.is_small || end <= block.touched) return;
  block_bytes_ += (end - block.touched) * kUnitBytes;
  block.touched = end;
}

void* IndexArena::Allocate(uint64_t bytes) {
  if (bytes > kBytesMax) {
    std::byte* memory = MapAligned(RoundUpTo(bytes, kBlockBytes));
    if (memory != nullptr) large_bytes_ += RoundUpTo(bytes, kBlockBytes);
    return memory;
  }
  const uint64_t units = UnitsOf(bytes);
  for (const auto& block : blocks_) {
    if (block->free_units < units || units >= block->too_many) continue;
    const uint64_t first = FindFree(*block, units);
    if (first == kUnits) {
      block->too_many = units;
      continue;
    }
    Mark(*block, first, units, true);
    if (first == block->search_from) block->search_from += units;
    Touch(*block, first + units);
    return block->memory + first * kUnitBytes;
  }
  auto block = std::unique_ptr<Block>(new (std::nothrow) Block);
  if (!block) return nullptr;
  block->memory = MapAligned(kBlockBytes);
  if (block->memory == nullptr) return nullptr;
  block->is_small = blocks_.size() < small_blocks_;
  if (!block->is_small) {
    ::madvise(block->memory, kBlockBytes, MADV_HUGEPAGE);  // a hint; refusal costs speed only
    block_bytes_ += kBlockBytes;
  }
  Mark(*block, 0, units, true);
  block->search_from = units;
  Touch(*block, units);
  void* memory = block->memory;
  const auto place = std::ranges::lower_bound(blocks_, block->memory, {}, &Block::memory);
  blocks_.insert(place, std::move(block));
  return memory;
}

void IndexArena::Free(void* memory, uint64_t bytes) {
  auto* begin = static_cast<std::byte*>(memory);
  if (bytes > kBytesMax) {
    ::munmap(begin, RoundUpTo(bytes, kBlockBytes));
    large_bytes_ -= RoundUpTo(bytes, kBlockBytes);
    return;
  }
  const auto after = std::ranges::upper_bound(blocks_, begin, {}, &Block::memory);
  ATTUNE_CHECK(after != blocks_.begin()) << "memory of another arena";
  Block& block = **(after - 1);
  const auto first = static_cast<uint64_t>(begin - block.memory) / kUnitBytes;
  Mark(block, first, UnitsOf(bytes), false);
  block.search_from = std::min(block.search_from, first);
  block.too_many = kUnits + 1;
}

}  // namespace attune::ps
