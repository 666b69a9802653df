#include "ps/core/intent/interest_survey.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::interest_survey_test {
namespace {

using std::chrono::milliseconds;

constexpr MonotonicTime kNow = MonotonicTime() + milliseconds(1000);
constexpr TableId kSmall(1), kLarge(2), kUnknown(3);

std::optional<RowBytes> BytesOf(TableId table) {
  if (table == kUnknown) return std::nullopt;
  return table == kSmall ? RowBytes{.values = 16, .state = 16} : RowBytes{.values = 4096, .state = 4096};
}

void Announce(InterestTable& interests, TableKey row, uint32_t node, RowUse use, RowPlace place) {
  interests.Announce(row, NodeId(node), {.use = use, .until = kNow + milliseconds(500)}, kNow);
  std::vector<RowInterest> in_row;
  interests.Collect(row, kNow, in_row);
  for (RowInterest& interest : in_row) {
    if (interest.node == NodeId(node)) interest.place = place;
  }
  interests.Place(row, in_row);
}

TEST(InterestSurvey, SaysByTableWhatIsAnnouncedAndWhatItCosts) {
  InterestTable interests(100);
  const RowUse often{.reads = 100, .writes = 0}, once{.reads = 1, .writes = 1};
  Announce(interests, {kSmall, 1}, 1, often, RowPlace::kReplicated);
  Announce(interests, {kSmall, 1}, 2, once, RowPlace::kLeft);
  Announce(interests, {kLarge, 1}, 1, often, RowPlace::kLeft);
  Announce(interests, {kUnknown, 1}, 1, often, RowPlace::kLeft);
  const auto tables = SurveyInterests(interests, BytesOf, {}, kNow);
  ASSERT_EQ(tables.size(), 2U) << "nothing is said of tables that are not known";
  const TableInterests& small = tables.at(kSmall);
  EXPECT_EQ(small.announced, 2);
  EXPECT_EQ(small.copies, 1);
  // Each by the formulas of row_decision.h, the other one elsewhere; half a second is announced.
  const RowInterest first{.node = NodeId(1), .use = often, .seconds = 0.5, .place = RowPlace::kReplicated};
  const RowInterest second{.node = NodeId(2), .use = once, .seconds = 0.5};
  const RowCosts of_first = CostsOf(first, {.reads = 2, .writes = 2}, *BytesOf(kSmall), {});
  const RowCosts of_second = CostsOf(second, {.reads = 200, .writes = 0}, *BytesOf(kSmall), {});
  EXPECT_NEAR(small.left_cores, (of_first.left + of_second.left) / 0.5, 1e-12);
  EXPECT_NEAR(small.copied_cores, (of_first.replicated + of_second.replicated) / 0.5, 1e-12);
  EXPECT_NEAR(small.decided_cores, (of_first.replicated + of_second.left) / 0.5, 1e-12);
  EXPECT_EQ(tables.at(kLarge).copies, 0);
  EXPECT_EQ(tables.at(kLarge).decided_cores, tables.at(kLarge).left_cores);
}

TEST(InterestSurvey, ACopyThatIsAnnouncedNoMoreCostsNothingAndIsCounted) {
  InterestTable interests(100);
  Announce(interests, {kSmall, 1}, 1, {.reads = 5, .writes = 5}, RowPlace::kReplicated);
  interests.Withdraw({kSmall, 1}, NodeId(1));
  const auto tables = SurveyInterests(interests, BytesOf, {}, kNow);
  EXPECT_EQ(tables.at(kSmall).announced, 0);
  EXPECT_EQ(tables.at(kSmall).copies, 1);
  EXPECT_EQ(tables.at(kSmall).decided_cores, 0);
}

TEST(InterestSurvey, ASampleOfManyIsNearTheWhole) {
  InterestTable interests(1 << 20);
  Random random(TestSeed("40000 rows"));
  constexpr size_t kRows = 40'000;
  for (Key key = 0; key < kRows; ++key) {
    const RowPlace place = random.Chance(0.3) ? RowPlace::kReplicated : RowPlace::kLeft;
    Announce(interests, {random.Chance(0.25) ? kLarge : kSmall, key}, 1,
             {.reads = 1 + random.Uniform() * 20, .writes = 1}, place);
  }
  const auto all = SurveyInterests(interests, BytesOf, {}, kNow, 2 * kRows);
  const auto sample = SurveyInterests(interests, BytesOf, {}, kNow, 2000);
  for (const TableId table : {kSmall, kLarge}) {
    EXPECT_NEAR(sample.at(table).announced, all.at(table).announced, 0.3 * all.at(table).announced);
    EXPECT_NEAR(sample.at(table).copies, all.at(table).copies, 0.5 * all.at(table).copies);
    EXPECT_NEAR(sample.at(table).left_cores, all.at(table).left_cores, 0.4 * all.at(table).left_cores);
  }
  EXPECT_NEAR(all.at(kSmall).announced + all.at(kLarge).announced, kRows, 1e-6);
}

}  // namespace
}  // namespace attune::ps::interest_survey_test
