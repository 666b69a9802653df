#include "ps/core/intent/intent_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "base/random.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::intent_book_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr TableId kTable{1};

std::vector<Key> KeysThatCome(IntentBook& book, uint64_t clock, uint64_t until) {
  std::vector<Key> keys;
  book.Advance(clock, until, [&](TableKey row) { keys.push_back(row.key); });
  return keys;
}
IntentBook::Added Add(IntentBook& book, std::vector<Key> keys, uint64_t begin, uint64_t end, uint64_t clock = 0) {
  return book.Add(kTable, keys, begin, end, Access::kReadWrite, clock);
}

TEST(IntentBook, AUseComesWithinReachOnceAndEndsWithItsLastStep) {
  IntentBook book(100);
  Add(book, {7, 8}, 5, 6);
  Add(book, {9}, 5, 8);
  EXPECT_THAT(KeysThatCome(book, 0, 4), IsEmpty());
  EXPECT_THAT(KeysThatCome(book, 1, 5), ElementsAre(7, 8, 9));
  EXPECT_THAT(KeysThatCome(book, 2, 6), IsEmpty());
  EXPECT_TRUE(book.IsInReach({kTable, 7}));
  EXPECT_FALSE(book.IsUsedAfter({kTable, 7}, 5));
  EXPECT_TRUE(book.IsUsedAfter({kTable, 9}, 5));
  KeysThatCome(book, 6, 6);
  EXPECT_FALSE(book.IsInReach({kTable, 7}));
  KeysThatCome(book, 8, 8);
  EXPECT_TRUE(book.empty());
}

TEST(IntentBook, ThreadsThatAnnounceTheSameRowAreMerged) {
  IntentBook book(100);
  Add(book, {7, 7}, 1, 2);
  Add(book, {7}, 1, 4);
  EXPECT_THAT(KeysThatCome(book, 0, 1), ElementsAre(7));
  KeysThatCome(book, 2, 3);
  EXPECT_TRUE(book.IsInReach({kTable, 7})) << "one of them uses it until step 3";
  EXPECT_EQ(book.uses(), 1U);
}

TEST(IntentBook, WhatComesTooLateIsCountedAndKeptWhileItIsOfUse) {
  IntentBook book(100);
  EXPECT_EQ(Add(book, {1}, 3, 4, 5).late, 1U);
  EXPECT_TRUE(book.empty()) << "its last step has ended";
  EXPECT_EQ(Add(book, {1, 2}, 3, 9, 5).late, 2U);
  EXPECT_THAT(KeysThatCome(book, 5, 5), ElementsAre(1, 2));
}

TEST(IntentBook, WhatIsNeverReachedTakesRoomAndNoMore) {
  IntentBook book(3);
  EXPECT_EQ(Add(book, {1, 2}, uint64_t{1} << 60, (uint64_t{1} << 60) + 1).refused, 0U);
  EXPECT_EQ(Add(book, {3, 4}, 2, 3).refused, 1U);
  EXPECT_THAT(KeysThatCome(book, 1, 2), ElementsAre(3));
  book.Clear();
  EXPECT_EQ(Add(book, {3, 4}, 2, 3).refused, 0U);
}

TEST(IntentBook, ReachMayFallAndRiseAgain) {
  IntentBook book(100);
  Add(book, {1}, 4, 5);
  Add(book, {2}, 6, 7);
  EXPECT_THAT(KeysThatCome(book, 0, 5), ElementsAre(1));
  EXPECT_THAT(KeysThatCome(book, 1, 2), IsEmpty());
  EXPECT_THAT(KeysThatCome(book, 2, 6), ElementsAre(2));
}

// Against a list of every (row, step).
TEST(IntentBook, AgreesWithAListOfAllUses) {
  Random random(TestSeed("20,000 announcements and steps, 40 rows"));
  IntentBook book(1 << 20);
  std::multimap<Key, std::pair<uint64_t, uint64_t>> uses;
  uint64_t clock = 0, reached = 0;
  std::set<Key> in_reach;
  for (int i = 0; i < 20'000; ++i) {
    if (random.Chance(0.7)) {
      const uint64_t begin = clock + random.Below(30), end = begin + 1 + random.Below(6);
      const Key key = random.Below(40);
      Add(book, {key}, begin, end, clock);
      uses.emplace(key, std::pair(begin, end));
      continue;
    }
    clock += random.Below(2);
    reached = clock + random.Below(12);
    book.Advance(clock, reached, [&](TableKey row) { in_reach.insert(row.key); });
    std::erase_if(uses, [&](const auto& use) { return use.second.second <= clock; });
    for (Key key = 0; key < 40; ++key) {
      uint64_t end = 0;
      bool within = false;
      const auto [first, last] = uses.equal_range(key);
      for (auto use = first; use != last; ++use) {
        if (use->second.first > reached) continue;
        within = true;
        end = std::max(end, use->second.second);
      }
      if (within) {
        EXPECT_TRUE(in_reach.contains(key)) << "no visit for key " << key;
        EXPECT_TRUE(book.IsInReach({kTable, key}));
      }
      EXPECT_TRUE(!within || end <= clock + 1 || book.IsUsedAfter({kTable, key}, clock)) << "key " << key;
      EXPECT_TRUE(first != last || !book.IsInReach({kTable, key})) << "key " << key;
    }
    EXPECT_EQ(book.uses(), uses.size());
  }
}

}  // namespace
}  // namespace attune::ps::intent_book_test
