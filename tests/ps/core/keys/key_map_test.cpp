#include "ps/core/keys/key_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "base/random.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::key_map_test {
namespace {

constexpr TableId kTable{1};

TEST(KeyMap, VisitsTheNextSlotsRoundAndRound) {
  KeyMap<int> map;
  map.VisitNext(64, [](TableKey, int&) { FAIL() << "it is empty"; });
  for (Key key = 1; key <= 100; ++key) map[{kTable, key}] = static_cast<int>(key);
  std::map<Key, int> seen;
  size_t most = 0;
  for (int call = 0; call < 10'000; ++call) {
    size_t visited = 0;
    map.VisitNext(8, [&](TableKey row, int& value) {
      EXPECT_EQ(static_cast<Key>(value), row.key);
      ++seen[row.key];
      ++visited;
    });
    most = std::max(most, visited);
  }
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_LE(most, 8U);
  EXPECT_GT(most, 0U);
  const auto [least, greatest] = std::ranges::minmax_element(seen, {}, [](const auto& entry) { return entry.second; });
  EXPECT_LE(greatest->second - least->second, 1) << "each as often as every other";
  size_t visited = 0;
  map.VisitNext(1'000'000, [&](TableKey, int&) { ++visited; });
  EXPECT_EQ(visited, 100U) << "none twice in a call";
}

// Keys are few, so that chains of slots run into each other and around the end.
TEST(KeyMap, AgreesWithAnOrderedMap) {
  Random random(TestSeed("200 maps, 300 changes each, 48 rows"));
  for (int round = 0; round < 200; ++round) {
    KeyMap<uint64_t> map;
    std::map<TableKey, uint64_t> twin;
    for (int i = 0; i < 300; ++i) {
      const TableKey row{TableId(static_cast<uint32_t>(1 + random.Below(2))), random.Below(24)};
      switch (random.Below(4)) {
        case 0:
          ASSERT_EQ(map.Erase(row), twin.erase(row) > 0);
          break;
        case 1: {
          const uint64_t* const found = map.Find(row);
          ASSERT_EQ(found != nullptr, twin.contains(row));
          if (found != nullptr) {
            ASSERT_EQ(*found, twin.at(row));
          }
          break;
        }
        default:
          map[row] = twin[row] = random.Next();
      }
      ASSERT_EQ(map.size(), twin.size());
    }
    std::map<TableKey, uint64_t> all;
    map.ForEach([&](TableKey row, uint64_t value) { all[row] = value; });
    ASSERT_EQ(all, twin);
  }
}

}  // namespace
}  // namespace attune::ps::key_map_test
