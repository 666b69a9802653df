#include "ps/core/intent/intent_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
  for (const TableKey row : book.Advance(clock, until).came) keys.push_back(row.key);
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

TEST(IntentBook, WhileAnnouncementsAreIgnoredNoRowIsInReachAndNoneIsForgotten) {
  IntentBook book(100);
  Add(book, {1}, 1, 2);
  Add(book, {2, 3}, 2, 9);
  Add(book, {2}, 3, 4);
  EXPECT_THAT(KeysThatCome(book, 0, 2), ElementsAre(1, 2, 3));
  const auto ended = [](const IntentBook::Reached& reached) {
    std::set<Key> keys;
    for (const TableKey row : reached.ended) keys.insert(row.key);
    return keys;
  };
  EXPECT_THAT(ended(book.Advance(1, 3, true)), ElementsAre(1, 2, 3));
  EXPECT_FALSE(book.IsInReach({kTable, 2}));
  EXPECT_THAT(book.Advance(3, 5, true).came, IsEmpty());
  EXPECT_EQ(book.uses(), 3U) << "the first one has ended";
  EXPECT_THAT(KeysThatCome(book, 3, 5), ElementsAre(2, 3)) << "both uses of the former";
  EXPECT_EQ(book.TouchesOf({kTable, 2}).end, 9U);
  EXPECT_THAT(ended(book.Advance(9, 9)), ElementsAre(2, 3));
  EXPECT_TRUE(book.empty());
}

// Against a list of every (row, step).
TEST(IntentBook, AgreesWithAListOfAllUses) {
  Random random(TestSeed("20,000 announcements and steps, 40 rows"));
  bool ignored = false;
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
    if (random.Chance(0.05)) ignored = !ignored;
    if (ignored) in_reach.clear();
    for (const TableKey row : book.Advance(clock, reached, ignored).came) in_reach.insert(row.key);
    std::erase_if(uses, [&](const auto& use) { return use.second.second <= clock; });
    for (Key key = 0; key < 40; ++key) {
      uint64_t end = 0;
      bool within = false;
      const auto [first, last] = uses.equal_range(key);
      for (auto use = first; use != last; ++use) {
        if (use->second.first > reached || ignored) continue;
        within = true;
        end = std::max(end, use->second.second);
      }
      if (within) {
        EXPECT_TRUE(in_reach.contains(key)) << "no visit for key " << key;
        EXPECT_TRUE(book.IsInReach({kTable, key}));
      }
      EXPECT_TRUE(!within || end <= clock + 1 || book.IsUsedAfter({kTable, key}, clock)) << "key " << key;
      EXPECT_TRUE((first != last && !ignored) || !book.IsInReach({kTable, key})) << "key " << key;
    }
    EXPECT_EQ(book.uses(), uses.size());
  }
}

// --- what a copy may pay for

TEST(IntentBook, StepsThatReadAndStepsThatWriteAreCountedWhileTheyAreWithinReach) {
  IntentBook book(100);
  const auto add = [&](uint64_t begin, uint64_t end, Access access) {
    const Key key = 7;
    book.Add(kTable, {&key, 1}, begin, end, access, 0);
  };
  const auto expect = [&](uint32_t reads, uint32_t writes, uint64_t end) {
    const IntentBook::Touches touches = book.TouchesOf({kTable, 7});
    EXPECT_EQ(touches.reads, reads);
    EXPECT_EQ(touches.writes, writes);
    EXPECT_EQ(touches.end, end);
    EXPECT_EQ(touches.most(), std::max(reads, writes));
  };
  add(1, 4, Access::kRead);
  add(2, 4, Access::kWrite);
  add(3, 8, Access::kReadWrite);
  expect(0, 0, 0);
  book.Advance(0, 1);
  expect(3, 0, 4);
  book.Advance(1, 2);
  expect(3, 2, 4);
  book.Advance(2, 3);
  expect(8, 7, 8);
  book.Advance(4, 4);
  expect(5, 5, 8);
  book.Advance(8, 8);
  expect(0, 0, 0);
}

TEST(IntentBook, ARowThatMoreThanOneStepTouchesIsNamedWithEachUseThatComes) {
  IntentBook book(100);
  Add(book, {1}, 1, 2);
  Add(book, {2}, 1, 3);
  Add(book, {1}, 2, 3);
  Add(book, {2}, 3, 4);
  const auto repeated = [&](uint64_t clock, uint64_t until) {
    std::vector<Key> keys;
    for (const TableKey row : book.Advance(clock, until).repeated) keys.push_back(row.key);
    return keys;
  };
  EXPECT_THAT(repeated(0, 1), ElementsAre(2)) << "one step touches the other row";
  EXPECT_THAT(repeated(0, 1), IsEmpty()) << "nothing has come";
  EXPECT_THAT(repeated(1, 2), ElementsAre(1));
  EXPECT_THAT(repeated(2, 3), ElementsAre(2));
}

TEST(IntentBook, OneStepThatReadsAndOneThatWritesAreNoRepetition) {
  IntentBook book(100);
  const Key key = 7;
  book.Add(kTable, {&key, 1}, 1, 2, Access::kRead, 0);
  book.Add(kTable, {&key, 1}, 1, 2, Access::kWrite, 0);
  EXPECT_THAT(book.Advance(0, 1).repeated, IsEmpty());
  EXPECT_EQ(book.TouchesOf({kTable, 7}).most(), 1U);
}

TEST(IntentBook, ARowWhoseLastUseHasEndedIsNamedOnce) {
  IntentBook book(100);
  Add(book, {1, 2}, 1, 3);
  Add(book, {2}, 2, 5);
  const auto ended = [&](uint64_t clock) {
    std::vector<Key> keys;
    for (const TableKey row : book.Advance(clock, clock + 1).ended) keys.push_back(row.key);
    return keys;
  };
  EXPECT_THAT(ended(1), IsEmpty());
  EXPECT_THAT(ended(2), IsEmpty());
  EXPECT_THAT(ended(3), ElementsAre(1));
  EXPECT_THAT(ended(4), IsEmpty());
  EXPECT_THAT(ended(5), ElementsAre(2));
  EXPECT_THAT(ended(6), IsEmpty());
}

// What the book has of one row, counted again each time.
class UseList {
 public:
  void Add(Key key, uint64_t begin, uint64_t end, Access access, uint64_t clock) {
    if (end > clock) uses_.insert({begin, {.key = key, .end = end, .steps = end - begin, .access = access}});
  }
  IntentBook::Touches TouchesOf(Key key) const {
    IntentBook::Touches touches;
    for (const auto& [begin, use] : uses_) {
      if (use.key != key || !use.is_reached) continue;
      if (use.access != Access::kWrite) touches.reads += static_cast<uint32_t>(use.steps);
      if (use.access != Access::kRead) touches.writes += static_cast<uint32_t>(use.steps);
      touches.end = std::max(touches.end, use.end);
    }
    return touches;
  }
  struct News {
    std::vector<Key> came, repeated;
    std::set<Key> ended;
  };
  News Advance(uint64_t clock, uint64_t until) {
    News news;
    for (auto it = uses_.begin(); it != uses_.end();) {
      if (it->second.end > clock) {
        ++it;
        continue;
      }
      const Use use = it->second;
      it = uses_.erase(it);
      if (use.is_reached && TouchesOf(use.key).most() == 0) news.ended.insert(use.key);
    }
    for (auto& [begin, use] : uses_) {
      if (use.is_reached || begin > until) continue;
      if (TouchesOf(use.key).most() == 0) news.came.push_back(use.key);
      use.is_reached = true;
      if (TouchesOf(use.key).most() > 1) news.repeated.push_back(use.key);
    }
    return news;
  }

 private:
  struct Use {
    Key key = 0;
    uint64_t end = 0, steps = 0;
    Access access = Access::kRead;
    bool is_reached = false;
  };
  std::multimap<uint64_t, Use> uses_;  // by their first step
};

TEST(IntentBook, AgreesWithAListAboutWhatComesIsRepeatedAndEnds) {
  Random random(TestSeed("10,000 announcements and steps, 10 rows"));
  IntentBook book(1 << 20);
  UseList list;
  uint64_t clock = 0;
  for (int i = 0; i < 10'000; ++i) {
    if (random.Chance(0.5)) {
      const Key key = random.Below(10);
      const uint64_t begin = clock + random.Below(12), end = begin + 1 + random.Below(4);
      const auto access = static_cast<Access>(random.Below(3));
      book.Add(kTable, {&key, 1}, begin, end, access, clock);
      list.Add(key, begin, end, access, clock);
      continue;
    }
    clock += random.Below(3);
    const uint64_t until = clock + random.Below(8);
    const UseList::News expected = list.Advance(clock, until);
    const IntentBook::Reached& found = book.Advance(clock, until);
    const auto keys = [](const std::vector<TableKey>& rows) {
      std::vector<Key> of;
      for (const TableKey row : rows) of.push_back(row.key);
      return of;
    };
    ASSERT_EQ(keys(found.came), expected.came);
    ASSERT_EQ(keys(found.repeated), expected.repeated);
    std::vector<Key> ended = keys(found.ended);
    std::ranges::sort(ended);
    ASSERT_THAT(ended, ::testing::ElementsAreArray(expected.ended));
    for (Key key = 0; key < 10; ++key) {
      const IntentBook::Touches touches = book.TouchesOf({kTable, key}), want = list.TouchesOf(key);
      ASSERT_EQ(touches.reads, want.reads) << "key " << key;
      ASSERT_EQ(touches.writes, want.writes) << "key " << key;
      ASSERT_EQ(touches.end, want.end) << "key " << key;
      ASSERT_EQ(book.IsInReach({kTable, key}), want.most() > 0) << "key " << key;
    }
  }
}

}  // namespace
}  // namespace attune::ps::intent_book_test
