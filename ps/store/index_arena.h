// Memory of the row index and of side records: blocks of 2 MiB, which ask the system for huge pages (a lookup touches a
// random line, and without them most of its time is the page walk), cut into units of 256 bytes by a bitmap. Neighbors
// that are freed can be used together again. The first blocks do not ask, so that a small table stays small.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace attune::ps {

class IndexArena {
 public:
  static constexpr uint64_t kUnitBytes = 256;
  static constexpr uint64_t kBytesMax = 1ULL << 20;  // of one allocation; larger ones take blocks of their own

  // The first `small_blocks` do not ask for huge pages, and only what was used of them counts.
  explicit IndexArena(uint64_t small_blocks = 1) : small_blocks_(small_blocks) {}
  ~IndexArena();
  IndexArena(const IndexArena&) = delete;
  IndexArena& operator=(const IndexArena&) = delete;

  // Units at a multiple of 256 bytes, or null when the system has no memory.
  void* Allocate(uint64_t bytes);
  // `bytes` as they were allocated.
  void Free(void* memory, uint64_t bytes);

  // Of small blocks what has been used: the rest takes no memory.
  uint64_t memory_bytes() const { return block_bytes_ + large_bytes_; }

 private:
  static constexpr uint64_t kBlockBytes = 2ULL << 20;
  static constexpr uint64_t kUnits = kBlockBytes / kUnitBytes;
  static constexpr uint64_t kWords = kUnits / 64;

  struct Block {
    std::byte* memory = nullptr;
    uint64_t free_units = kUnits;
    uint64_t search_from = 0;        // no unit below it is free
    uint64_t too_many = kUnits + 1;  // no such number of units in a row was free when it was last searched
    bool is_small = false;
    uint64_t touched = 0;  // units up to the highest one ever given; of a small block
    std::array<uint64_t, kWords> used{};
  };
  // The first of so many free units in a row; kUnits when there are none.
  static uint64_t FindFree(Block& block, uint64_t units);
  static void Mark(Block& block, uint64_t first, uint64_t units, bool used);

  void Touch(Block& block, uint64_t end);

  const uint64_t small_blocks_;
  std::vector<std::unique_ptr<Block>> blocks_;  // by address
  uint64_t block_bytes_ = 0, large_bytes_ = 0;
};

}  // namespace attune::ps
