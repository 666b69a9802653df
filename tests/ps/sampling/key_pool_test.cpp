#include "ps/sampling/key_pool.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/base/seeds.h"

namespace attune::ps {
namespace {

TEST(KeyPoolTest, EachKeyIsHandedOutAsOftenAsItsPoolSaysBeforeAnotherPoolIsDrawn) {
  ForSeeds(10, [](uint64_t seed) {
    Random random(seed);
    KeyPool pool;
    Key drawn = 0;
    for (Key first = 0; first < 3 * KeyPool::kKeys; first += KeyPool::kKeys) {
      std::map<Key, size_t> uses;
      for (size_t i = 0; i < KeyPool::kKeys * KeyPool::kUses; ++i) ++uses[pool.Next(random, [&] { return drawn++; })];
      EXPECT_EQ(drawn, first + KeyPool::kKeys);
      EXPECT_EQ(uses.size(), KeyPool::kKeys);
      EXPECT_EQ(uses.begin()->first, first);
      for (const auto& [key, times] : uses) EXPECT_EQ(times, KeyPool::kUses) << "key " << key;
    }
  });
}

TEST(KeyPoolTest, ItsOrderIsRandom) {
  Random random(1);
  KeyPool pool;
  Key drawn = 0;
  int neighbors = 0;  // the same key twice in a row
  Key last = ~Key{0};
  for (size_t i = 0; i < KeyPool::kKeys * KeyPool::kUses; ++i) {
    const Key key = pool.Next(random, [&] { return drawn++; });
    neighbors += key == last ? 1 : 0;
    last = key;
  }
  EXPECT_LT(neighbors, 60) << "one of 256 draws, some 15 in all";
}

}  // namespace
}  // namespace attune::ps
