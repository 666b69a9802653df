#include "ps/core/keys/key_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/random.h"
#include "tests/base/seeds.h"

namespace attune::ps::key_index_test {
namespace {

TEST(KeySet, StartEmptiesIt) {
  KeySet set;
  set.Start(100);
  EXPECT_EQ(set.FindOrInsert(5, 1), 1U);
  EXPECT_EQ(set.FindOrInsert(5, 2), 1U);
  EXPECT_EQ(set.FindOrInsert(0, 3), 3U);
  set.Start(10);
  EXPECT_EQ(set.FindOrInsert(5, 4), 4U);
}

TEST(UnacknowledgedKeys, AgreesWithAMapUnderRandomAddsAndRemoves) {
  ForSeeds(1, [](uint64_t seed) {
    Random random(seed);
    UnacknowledgedKeys index;
    std::map<std::pair<uint32_t, Key>, std::vector<uint64_t>> twin;
    for (uint64_t step = 1; step <= 20000; ++step) {
      const TableId table(static_cast<uint32_t>(1 + random.Below(2)));
      const Key key = random.Below(150);
      auto& sequences = twin[{table.value(), key}];
      if (random.Chance(0.5)) {
        index.Add(table, key, SequenceNumber(step), static_cast<uint32_t>(step % 17));
        sequences.push_back(step);
      } else if (!sequences.empty()) {
        const auto victim = sequences.begin() + static_cast<ptrdiff_t>(random.Below(sequences.size()));
        index.Remove(table, key, SequenceNumber(*victim));
        sequences.erase(victim);
      } else {
        index.Remove(table, key, SequenceNumber(1));  // absent: nothing happens
      }
      std::vector<After> found;
      const Key look = random.Below(150);
      index.Find(table, look, 3, found);
      const auto& expected = twin[{table.value(), look}];
      ASSERT_EQ(found.size(), expected.size()) << "step " << step;
      for (size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].sequence.value(), expected[i]);
        ASSERT_EQ(found[i].position, expected[i] % 17);
        ASSERT_EQ(found[i].key_index, 3U);
      }
    }
    const bool empty = std::ranges::all_of(twin, [](const auto& entry) { return entry.second.empty(); });
    EXPECT_EQ(index.empty(), empty);
  });
}

}  // namespace
}  // namespace attune::ps::key_index_test
