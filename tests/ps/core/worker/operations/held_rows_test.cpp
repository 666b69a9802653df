#include "ps/core/worker/operations/held_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Found = HeldRows::Found;
using Pushed = HeldRows::Pushed;

constexpr TableId kTable{1};
constexpr NodeId kHome{1};
constexpr MonotonicTime kNow = MonotonicTime() + std::chrono::hours(1);
constexpr size_t kPlenty = 1 << 20;

TableKey Row(Key key) { return {kTable, key}; }
TableOptions Sums(uint32_t dim = 1) { return {.dim = dim, .optimizer = Sgd{.rate = 1}}; }

// Copies of rows of a table in which a push of 1 makes the value fall by 1.
class HeldRowsTest : public ::testing::Test {
 protected:
  explicit HeldRowsTest(size_t bytes_max = kPlenty) : rows(bytes_max) {
    rows.OpenTable(kTable, Sums());
    rows.Confirm(kHome, kNow, 0);
  }
  bool Install(Key key, float value, SequenceNumber contains = {}, uint64_t step = 0, NodeId home = kHome) {
    return rows.Install(Row(key), {.home = home, .version = RowVersion(1), .row = {&value, 1}, .contains = contains},
                        step, [&](TableKey row) { gone.push_back(row.key); });
  }
  Pushed Push(Key key, float gradient, uint64_t step = 0) { return rows.Push(Row(key), {&gradient, 1}, step); }
  float Read(Key key) {
    std::span<const float> values;
    EXPECT_EQ(rows.Read(Row(key), {.now = kNow, .age_max = milliseconds(10)}, values), Found::kHere);
    return values.empty() ? 0 : values[0];
  }
  Found Look(Key key, const HeldRows::Need& need) {
    std::span<const float> values;
    return rows.Read(Row(key), need, values);
  }
  std::map<Key, float> Take(uint64_t sequence, size_t rows_max = 100, NodeId home = kHome) {
    std::map<Key, float> folds;
    rows.TakeFolds(home, kTable, SequenceNumber(sequence), rows_max,
                   [&](TableKey row, const FoldView& fold) { folds[row.key] = fold.changes[0]; });
    return folds;
  }

  HeldRows rows;
  std::vector<Key> gone;
};

TEST_F(HeldRowsTest, ACopyIsReadAndHasTheProgramsPushesAtOnce) {
  EXPECT_EQ(Push(7, 1), Pushed::kNot);
  Install(7, 10);
  EXPECT_EQ(Read(7), 10);
  EXPECT_EQ(Push(7, 2), Pushed::kDone);
  EXPECT_EQ(Read(7), 8);
}

TEST_F(HeldRowsTest, ACopyIsAsNewAsTheLastAnsweredRoundToItsHome) {
  Install(7, 10);
  EXPECT_EQ(Look(7, {.now = kNow + milliseconds(10), .age_max = milliseconds(10)}), Found::kHere);
  EXPECT_EQ(Look(7, {.now = kNow + milliseconds(11), .age_max = milliseconds(10)}), Found::kStale);
  EXPECT_EQ(Look(7, {.now = kNow, .age_max = milliseconds(10), .floor = 1}), Found::kStale);
  rows.Confirm(NodeId(2), kNow + milliseconds(11), 1);
  EXPECT_EQ(Look(7, {.now = kNow, .age_max = milliseconds(10), .floor = 1}), Found::kStale) << "another home";
  rows.Confirm(kHome, kNow + milliseconds(11), 1);
  EXPECT_EQ(Look(7, {.now = kNow + milliseconds(11), .age_max = milliseconds(10), .floor = 1}), Found::kHere);
  rows.HomeLost(kHome);
  EXPECT_EQ(Look(7, {.now = kNow, .age_max = milliseconds(10)}), Found::kStale);
  EXPECT_EQ(Look(8, {.now = kNow}), Found::kNot);
}

TEST_F(HeldRowsTest, OneFoldOfARowIsInFlightAtATime) {
  Install(7, 0);
  Push(7, 1);
  Push(7, 2);
  EXPECT_THAT(Take(5), ElementsAre(std::pair(7, -3.0F)));
  Push(7, 4);
  EXPECT_THAT(Take(6), IsEmpty());
  rows.Folded(Row(7), SequenceNumber(4));
  EXPECT_THAT(Take(6), IsEmpty()) << "that was not its fold";
  rows.Folded(Row(7), SequenceNumber(5));
  EXPECT_THAT(Take(6), ElementsAre(std::pair(7, -4.0F)));
  EXPECT_FALSE(rows.HasOpen());
}

TEST_F(HeldRowsTest, ARefreshLeavesPushesThatItDoesNotContain) {
  Install(7, 0);
  Push(7, 1);
  Take(5);
  Push(7, 2);
  Install(7, -100, SequenceNumber(4));
  EXPECT_EQ(Read(7), -103);
  Install(7, -201, SequenceNumber(5));
  EXPECT_EQ(Read(7), -203);
  rows.Folded(Row(7), SequenceNumber(5));
  EXPECT_EQ(Read(7), -203);
}

TEST_F(HeldRowsTest, FoldsAreTakenByHomeThoseOfEarlierPushesFirst) {
  Install(1, 0);
  Install(2, 0);
  Install(3, 0, {}, 0, NodeId(2));
  for (const Key key : {2, 3, 1}) Push(key, 1);
  EXPECT_THAT(Take(1, 1), ElementsAre(std::pair(2, -1.0F)));
  EXPECT_THAT(Take(2, 9), ElementsAre(std::pair(1, -1.0F)));
  EXPECT_THAT(Take(3, 9, NodeId(2)), ElementsAre(std::pair(3, -1.0F)));
}

TEST_F(HeldRowsTest, OpenPushesGoToTheHomeThatTheRowHasNow) {
  Install(7, 0);
  Push(7, 1);
  Install(7, 0, {}, 0, NodeId(2));
  EXPECT_THAT(Take(1), IsEmpty());
  EXPECT_THAT(Take(1, 9, NodeId(2)), ElementsAre(std::pair(7, -1.0F)));
}

TEST_F(HeldRowsTest, ACopyWithPushesThatWereNotSentIsNotDropped) {
  Install(7, 0);
  Push(7, 1);
  EXPECT_FALSE(rows.Drop(Row(7)));
  Take(5);
  EXPECT_TRUE(rows.Drop(Row(7)));
  EXPECT_FALSE(rows.Contains(Row(7)));
  EXPECT_EQ(rows.bytes(), 0U);
  rows.Folded(Row(7), SequenceNumber(5));
  EXPECT_TRUE(rows.Drop(Row(7))) << "it is gone already";
}

class FewHeldRows : public HeldRowsTest {
 protected:
  FewHeldRows() : HeldRowsTest(6 * sizeof(float)) {}  // a row and its writes have three
};

TEST_F(FewHeldRows, WhatWasUsedLongestAgoMakesRoom) {
  for (Key key = 0; key < 6; ++key) EXPECT_TRUE(Install(key, 0, {}, key));
  std::span<const float> values;
  rows.Read(Row(0), {.now = kNow, .age_max = milliseconds(10), .step = 10}, values);
  EXPECT_TRUE(Install(6, 0, {}, 11));
  EXPECT_THAT(gone, ElementsAre(1));
  EXPECT_EQ(rows.size(), 6U);
}

TEST_F(FewHeldRows, PushesBeyondTheBoundGoToTheHome) {
  for (Key key = 0; key < 4; ++key) Install(key, 0);
  EXPECT_EQ(Push(0, 1), Pushed::kDone);
  EXPECT_EQ(Push(1, 1), Pushed::kNot);
  EXPECT_EQ(Push(0, 1), Pushed::kDone);
}

TEST_F(FewHeldRows, CopiesWithPushesThatWereNotSentDoNotGo) {
  for (Key key = 0; key < 2; ++key) {
    Install(key, 0);
    Push(key, 1);
  }
  EXPECT_FALSE(Install(2, 0));
  EXPECT_THAT(gone, IsEmpty());
  Take(1);
  EXPECT_TRUE(Install(2, 0));
  EXPECT_EQ(gone.size(), 1U);
}

TEST(HeldRowsMemory, RecordsTakeAtMost48BytesForEachRow) {
  HeldRows rows(kPlenty << 6);
  rows.OpenTable(kTable, Sums());
  const float value = 0;
  for (Key key = 0; key < 100'000; ++key) {
    ASSERT_TRUE(
        rows.Install(Row(key), {.home = kHome, .version = {}, .row = {&value, 1}, .contains = {}}, 0, [](TableKey) {}));
    if (key > 20000) {
      ASSERT_LE(rows.memory_of_records(), 48 * rows.size()) << rows.size();
    }
  }
}

// Against sums in a map: what the home had sent, and this worker's pushes that were not in it.
TEST(HeldRowsTwin, AgreesWithSums) {
  Random random(TestSeed("20,000 events, 40 rows, room for some 20"));
  constexpr size_t kRoom = 60 * sizeof(float);
  struct Twin {
    float at_home = 0, sent = 0, open = 0, in_flight = 0;
    uint64_t sequence = 0;  // of the fold in flight
    bool arrived = false;
    bool is_held = false;
  };
  HeldRows rows(kRoom);
  rows.OpenTable(kTable, Sums());
  rows.Confirm(kHome, kNow, 0);
  std::map<Key, Twin> twins;
  uint64_t sequence = 0;
  for (int event = 0; event < 20'000; ++event) {
    const Key key = random.Below(40);
    Twin& twin = twins[key];
    const auto gradient = static_cast<float>(1 + random.Below(3));
    const double dice = random.Uniform();
    if (dice < 0.3) {
      if (rows.Push(Row(key), {&gradient, 1}, event) == Pushed::kNot) continue;
      ASSERT_TRUE(twin.is_held);
      twin.open -= gradient;
    } else if (dice < 0.4) {
      twin.at_home -= gradient;  // another worker
    } else if (dice < 0.55) {
      if (!twin.is_held && twin.sequence != 0) continue;  // what was dropped comes again when its fold is done
      const SequenceNumber contains(twin.arrived ? twin.sequence : 0);
      const HeldRows::Fresh fresh{.home = kHome, .version = {}, .row = {&twin.at_home, 1}, .contains = contains};
      const bool is_in = rows.Install(Row(key), fresh, event, [&](TableKey row) {
        EXPECT_EQ(twins[row.key].open, 0);
        twins[row.key].is_held = false;
      });
      EXPECT_TRUE(is_in || !twin.is_held);
      if (is_in) twin.sent = twin.at_home + (twin.arrived ? 0 : twin.in_flight);
      twin.is_held = is_in;
    } else if (dice < 0.7) {
      ++sequence;
      rows.TakeFolds(kHome, kTable, SequenceNumber(sequence), 1 + random.Below(5),
                     [&](TableKey row, const FoldView& fold) {
                       Twin& taken = twins[row.key];
                       EXPECT_EQ(fold.changes[0], taken.open);
                       EXPECT_EQ(taken.sequence, 0U) << "two in flight";
                       taken.sent += taken.open;
                       taken.in_flight = std::exchange(taken.open, 0.0F);
                       taken.sequence = sequence;
                       taken.arrived = false;
                     });
    } else if (dice < 0.8) {
      if (twin.sequence == 0 || twin.arrived) continue;
      twin.at_home += twin.in_flight;
      twin.arrived = true;
    } else if (dice < 0.9) {
      if (!twin.arrived) continue;
      rows.Folded(Row(key), SequenceNumber(twin.sequence));
      twin.in_flight = 0;
      twin.sequence = 0;
      twin.arrived = false;
    } else if (dice < 0.93) {
      EXPECT_EQ(rows.Drop(Row(key)), twin.open == 0 || !twin.is_held);
      if (twin.open == 0) twin.is_held = false;
    }
    ASSERT_EQ(rows.Contains(Row(key)), twin.is_held);
    ASSERT_LE(rows.bytes(), kRoom);
    if (!twin.is_held) continue;
    std::span<const float> values;
    ASSERT_EQ(rows.Read(Row(key), {.now = kNow, .step = static_cast<uint64_t>(event)}, values), Found::kHere);
    ASSERT_EQ(values[0], twin.sent + twin.open) << "event " << event;
  }
}

}  // namespace
}  // namespace attune::ps
