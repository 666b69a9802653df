#include "ps/core/keys/row_chains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/random.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::row_chains_test {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;

struct Record {
  Key key = 0;
  uint32_t table = 0;
  uint32_t next = 0;
  int number = 0;
};
constexpr TableKey Row(Key key) { return {TableId(1), key}; }

std::vector<int> NumbersOf(const RowChains<Record>& chains, TableKey row) {
  std::vector<int> numbers;
  chains.ForEach(row, [&](const Record& record) { numbers.push_back(record.number); });
  return numbers;
}

TEST(RowChains, ARowMayHaveSeveralRecords) {
  RowChains<Record> chains;
  EXPECT_EQ(chains.Find(Row(1), [](const Record&) { return true; }), nullptr);
  chains.Add(Row(1)).number = 10;
  chains.Add(Row(2)).number = 20;
  chains.Add(Row(1)).number = 11;
  EXPECT_THAT(NumbersOf(chains, Row(1)), ElementsAre(11, 10));
  EXPECT_EQ(chains.Find(Row(1), [](const Record& r) { return r.number == 10; })->number, 10);
  chains.RemoveOf(Row(1), [](const Record& r) { return r.number == 11; });
  EXPECT_THAT(NumbersOf(chains, Row(1)), ElementsAre(10));
  EXPECT_THAT(NumbersOf(chains, {TableId(2), 1}), ElementsAre()) << "a row of another table";
}

TEST(RowChains, RecordsStayWhereTheyAre) {
  RowChains<Record> chains;
  Record& first = chains.Add(Row(0));
  first.number = 7;
  for (Key key = 1; key < 5000; ++key) chains.Add(Row(key));
  EXPECT_EQ(chains.Find(Row(0), [](const Record&) { return true; }), &first);
  EXPECT_EQ(first.number, 7);
}

TEST(RowChains, ARecordThatIsUsedAgainIsNew) {
  RowChains<Record> chains;
  chains.Add(Row(1)).number = 7;
  const size_t bytes = chains.memory_bytes();
  chains.Remove([](const Record&) { return true; });
  EXPECT_TRUE(chains.empty());
  EXPECT_EQ(chains.Add(Row(2)).number, 0);
  EXPECT_EQ(chains.memory_bytes(), bytes);
}

TEST(RowChains, PlacesHoldAllRecordsAndGaps) {
  RowChains<Record> chains;
  for (int i = 0; i < 5; ++i) chains.Add(Row(static_cast<Key>(i))).number = i;
  chains.RemoveOf(Row(2), [](const Record&) { return true; });
  std::vector<int> numbers;
  for (size_t place = 0; place < chains.places(); ++place) {
    if (const Record* const record = chains.InPlace(place)) numbers.push_back(record->number);
  }
  EXPECT_THAT(numbers, ElementsAre(0, 1, 3, 4));
}

TEST(RowChains, AgreesWithAMultimap) {
  Random random(TestSeed("20,000 events, 300 rows"));
  RowChains<Record> chains;
  std::multimap<TableKey, int> twin;
  for (int event = 0; event < 20'000; ++event) {
    const TableKey row{TableId(static_cast<uint32_t>(1 + random.Below(3))), random.Below(100)};
    const auto part = static_cast<int>(random.Below(7));
    if (random.Chance(0.6)) {
      chains.Add(row).number = event;
      twin.emplace(row, event);
    } else if (random.Chance(0.99)) {
      chains.RemoveOf(row, [&](const Record& record) { return record.number % 7 >= part; });
      std::erase_if(twin, [&](const auto& entry) { return entry.first == row && entry.second % 7 >= part; });
    } else {
      chains.Remove([&](const Record& record) { return record.number % 7 == part; });
      std::erase_if(twin, [&](const auto& entry) { return entry.second % 7 == part; });
    }
    std::vector<int> want;
    const auto [first, last] = twin.equal_range(row);
    for (auto entry = first; entry != last; ++entry) want.push_back(entry->second);
    ASSERT_THAT(NumbersOf(chains, row), UnorderedElementsAreArray(want));
    ASSERT_EQ(chains.size(), twin.size());
  }
}

}  // namespace
}  // namespace attune::ps::row_chains_test
