#include "ps/store/index_arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "base/random.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::index_arena_test {
namespace {

TEST(IndexArena, GivesMemoryThatNobodyElseHas) {
  Random random(TestSeed("20,000 operations"));
  IndexArena arena;
  struct Piece {
    uint64_t bytes;
    uint8_t mark;
  };
  std::map<uint8_t*, Piece> pieces;
  for (int i = 0; i < 20'000; ++i) {
    if (pieces.empty() || random.Chance(0.55)) {
      const uint64_t bytes = 64 * (1 + random.Below(random.Chance(0.01) ? 20'000 : 1024));
      auto* memory = static_cast<uint8_t*>(arena.Allocate(bytes));
      ASSERT_NE(memory, nullptr);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0U);
      const auto mark = static_cast<uint8_t>(random.Next());
      std::memset(memory, mark, bytes);
      ASSERT_TRUE(pieces.try_emplace(memory, Piece{bytes, mark}).second);
    } else {
      const auto it = std::next(pieces.begin(), static_cast<ptrdiff_t>(random.Below(pieces.size())));
      for (const uint64_t at : {uint64_t{0}, it->second.bytes / 2, it->second.bytes - 1}) {
        ASSERT_EQ(it->first[at], it->second.mark) << "written by another piece";
      }
      arena.Free(it->first, it->second.bytes);
      pieces.erase(it);
    }
  }
  for (const auto& [memory, piece] : pieces) arena.Free(memory, piece.bytes);
}

TEST(IndexArena, FreedNeighborsAreUsedTogether) {
  IndexArena arena;
  constexpr uint64_t kPiece = 64 << 10, kPieces = 32;  // one block
  void* pieces[kPieces];
  for (void*& piece : pieces) piece = arena.Allocate(kPiece);
  const uint64_t full = arena.memory_bytes();
  arena.Free(pieces[4], kPiece);
  arena.Free(pieces[6], kPiece);
  arena.Free(pieces[5], kPiece);
  EXPECT_EQ(arena.Allocate(3 * kPiece), pieces[4]);
  EXPECT_EQ(arena.memory_bytes(), full);
}

}  // namespace
}  // namespace attune::ps::index_arena_test
