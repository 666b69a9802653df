#include "ps/core/intent/interest_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "ps/core/protocol/limits.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::interest_table_test {
namespace {

using std::chrono::milliseconds;

constexpr MonotonicTime kNow = MonotonicTime() + milliseconds(1000);
constexpr TableKey Row(Key key) { return {TableId(1), key}; }

std::vector<RowInterest> Collect(const InterestTable& table, TableKey row, MonotonicTime now = kNow) {
  std::vector<RowInterest> interests;
  table.Collect(row, now, interests);
  std::ranges::sort(interests, {}, &RowInterest::node);
  return interests;
}
bool Announce(InterestTable& table, TableKey row, uint32_t node, RowUse use = {.reads = 4, .writes = 4}) {
  return table.Announce(row, NodeId(node), {.use = use, .until = kNow + milliseconds(50)}, kNow);
}
// The row's places by node, as if all were decided so.
void PlaceAll(InterestTable& table, TableKey row, RowPlace place) {
  std::vector<RowInterest> interests = Collect(table, row);
  for (RowInterest& interest : interests) interest.place = place;
  table.Place(row, interests);
}

TEST(InterestTable, HasWhatEachNodeAnnouncedLast) {
  InterestTable table(10);
  Announce(table, Row(7), 2);
  Announce(table, Row(7), 1, {.reads = 3});
  Announce(table, Row(8), 1);
  Announce(table, Row(7), 2, {.writes = 1e9});
  const auto interests = Collect(table, Row(7), kNow + milliseconds(20));
  ASSERT_EQ(interests.size(), 2U);
  EXPECT_EQ(interests[0].use.reads, 3);
  EXPECT_EQ(interests[1].use.reads, 0);
  EXPECT_EQ(interests[1].use.writes, 65535) << "as far as is counted";
  EXPECT_DOUBLE_EQ(interests[1].seconds, 0.03);
  EXPECT_EQ(table.size(), 3U);
}

TEST(InterestTable, WhoIsLateWillStillUseTheRow) {
  InterestTable table(10);
  Announce(table, Row(7), 1);
  EXPECT_DOUBLE_EQ(Collect(table, Row(7), kNow + milliseconds(500))[0].seconds, 0.001);
}

TEST(InterestTable, ForgetsWhatIsWithdrawnUnlessTheNodeHasTheRow) {
  InterestTable table(10);
  Announce(table, Row(7), 1);
  table.Withdraw(Row(7), NodeId(1));
  EXPECT_TRUE(table.empty());

  Announce(table, Row(7), 1);
  PlaceAll(table, Row(7), RowPlace::kReplicated);
  table.Withdraw(Row(7), NodeId(1));
  ASSERT_EQ(table.size(), 1U) << "its copy is to be kept up to date";
  EXPECT_TRUE(Collect(table, Row(7))[0].use.empty());
  PlaceAll(table, Row(7), RowPlace::kLeft);
  EXPECT_TRUE(table.empty());
  table.Withdraw(Row(9), NodeId(1));
}

// Whom a change of the row is for.
std::vector<uint32_t> Changed(InterestTable& table, TableKey row, uint32_t except = 0) {
  std::vector<uint32_t> holders;
  table.Changed(row, NodeId(except), [&](NodeId holder) { holders.push_back(holder.value()); });
  std::ranges::sort(holders);
  return holders;
}

TEST(InterestTable, SendsAChangeOnceToEveryCopyThatLacksIt) {
  using enum InterestTable::Refresh;
  InterestTable table(10);
  for (uint32_t node = 1; node <= 3; ++node) Announce(table, Row(7), node);
  EXPECT_THAT(Changed(table, Row(7)), ::testing::IsEmpty()) << "there is no copy";
  PlaceAll(table, Row(7), RowPlace::kReplicated);
  EXPECT_THAT(Changed(table, Row(7), 2), ::testing::ElementsAre(1, 3)) << "the second wrote it itself";
  EXPECT_THAT(Changed(table, Row(7), 1), ::testing::ElementsAre(2)) << "the third is to be sent it already";
  EXPECT_EQ(table.TakeRefresh(Row(7), NodeId(3)), kSend);
  EXPECT_EQ(table.TakeRefresh(Row(7), NodeId(3)), kNothing);
  EXPECT_THAT(Changed(table, Row(7)), ::testing::ElementsAre(3));
  table.HasNone(Row(7), NodeId(3));
  EXPECT_EQ(table.TakeRefresh(Row(7), NodeId(3)), kNothing);
  EXPECT_FALSE(table.HasCopy(Row(7), NodeId(3)));
}

TEST(InterestTable, ACopyThatIsAnnouncedNoMoreIsRefreshedOnce) {
  using enum InterestTable::Refresh;
  InterestTable table(10);
  Announce(table, Row(7), 1);
  PlaceAll(table, Row(7), RowPlace::kReplicated);
  for (int i = 0; i < 300; ++i) {
    Changed(table, Row(7));
    EXPECT_EQ(table.TakeRefresh(Row(7), NodeId(1)), kSend) << "it is announced";
  }
  EXPECT_EQ(Collect(table, Row(7))[0].refreshes_since_use, 127U) << "as far as is counted";
  Announce(table, Row(7), 1);
  EXPECT_EQ(Collect(table, Row(7))[0].refreshes_since_use, 0U);
  table.Withdraw(Row(7), NodeId(1));
  Changed(table, Row(7));
  EXPECT_EQ(table.TakeRefresh(Row(7), NodeId(1)), kSend);
  Changed(table, Row(7));
  EXPECT_EQ(table.TakeRefresh(Row(7), NodeId(1)), kOfNoUse);
}

TEST(InterestTable, RefusesWhatIsBeyondItsBound) {
  InterestTable table(2);
  EXPECT_TRUE(Announce(table, Row(1), 1));
  EXPECT_TRUE(Announce(table, Row(2), 1));
  EXPECT_FALSE(Announce(table, Row(3), 1));
  EXPECT_TRUE(Announce(table, Row(2), 1)) << "one that is known";
  table.Withdraw(Row(1), NodeId(1));
  EXPECT_TRUE(Announce(table, Row(3), 1));
}

TEST(InterestTable, ForgetsADeadNodeAndSaysWhichRowsItHadAnnounced) {
  InterestTable table(100);
  for (Key key = 0; key < 20; ++key) {
    Announce(table, Row(key), 1);
    if (key % 4 == 0) Announce(table, Row(key), 2);
  }
  std::vector<Key> rows;
  table.Retain([](TableKey, NodeId node) { return node != NodeId(2); },
               [&](TableKey row, NodeId) { rows.push_back(row.key); });
  EXPECT_THAT(rows, ::testing::UnorderedElementsAre(0, 4, 8, 12, 16));
  EXPECT_EQ(table.size(), 20U);
  EXPECT_EQ(Collect(table, Row(4)).size(), 1U);
}

TEST(InterestTable, TakesAtMost48BytesForEachInterest) {
  InterestTable table(kInterestsMax);
  EXPECT_EQ(table.memory_bytes(), 0U) << "nothing announced, nothing taken";
  for (Key key = 0; table.size() < 300'000; ++key) {
    Announce(table, Row(key * 77), 1);
    if (table.size() > 5000) {
      ASSERT_LE(table.memory_bytes(), 48 * table.size()) << table.size();
    }
  }
}

// Against a map of all interests.
TEST(InterestTable, AgreesWithAMap) {
  Random random(TestSeed("30,000 events, 60 rows, 5 nodes, 200 interests at most"));
  InterestTable table(200);
  std::map<std::pair<TableKey, uint32_t>, RowInterest> twin;
  for (int event = 0; event < 30'000; ++event) {
    const TableKey row{TableId(1 + random.Below(2) * 1000), random.Below(30)};
    const auto node = static_cast<uint32_t>(1 + random.Below(5));
    const auto known = twin.find({row, node});
    const double dice = random.Uniform();
    if (dice < 0.5) {
      const RowUse use{.reads = 1 + static_cast<double>(random.Below(9))};
      ASSERT_EQ(Announce(table, row, node, use), known != twin.end() || twin.size() < 200);
      if (known == twin.end() && twin.size() == 200) continue;
      RowInterest& interest = twin[{row, node}];
      interest.use = use;
      interest.refreshes_since_use = 0;
    } else if (dice < 0.7) {
      table.Withdraw(row, NodeId(node));
      if (known == twin.end()) continue;
      if (!known->second.use.empty()) known->second.refreshes_since_use = 0;
      known->second.use = {};
      if (known->second.place == RowPlace::kLeft) twin.erase(known);
    } else if (dice < 0.8) {
      Changed(table, row);
      const bool is_sent = table.TakeRefresh(row, NodeId(node)) == InterestTable::Refresh::kSend;
      const bool has_copy = known != twin.end() && known->second.place == RowPlace::kReplicated;
      const bool is_of_use = has_copy && (!known->second.use.empty() || known->second.refreshes_since_use == 0);
      ASSERT_EQ(is_sent, is_of_use);
      if (is_sent) ++known->second.refreshes_since_use;
    } else if (dice < 0.99) {
      const auto place = static_cast<RowPlace>(random.Below(3));
      PlaceAll(table, row, place);
      for (auto& [key, interest] : twin) interest.place = key.first == row ? place : interest.place;
      std::erase_if(twin, [](const auto& e) { return e.second.use.empty() && e.second.place == RowPlace::kLeft; });
    } else {
      table.Retain([&](TableKey, NodeId n) { return n != NodeId(node); }, [](TableKey, NodeId) {});
      std::erase_if(twin, [&](const auto& entry) { return entry.first.second == node; });
    }
    ASSERT_EQ(table.size(), twin.size());
    for (const RowInterest& interest : Collect(table, row)) {
      const auto expected = twin.find({row, interest.node.value()});
      ASSERT_NE(expected, twin.end());
      EXPECT_EQ(interest.use.reads, expected->second.use.reads);
      EXPECT_EQ(interest.place, expected->second.place);
      EXPECT_EQ(interest.refreshes_since_use, std::min(expected->second.refreshes_since_use, 127U));
    }
    EXPECT_EQ(Collect(table, row).size(),
              static_cast<size_t>(std::ranges::count_if(twin, [&](const auto& e) { return e.first.first == row; })));
  }
}

}  // namespace
}  // namespace attune::ps::interest_table_test
