#include "ps/core/rows/state/held_replicates.h"

#include <gtest/gtest.h>

#include <vector>

namespace attune::ps::held_replicates_test {
namespace {

constexpr TableKey kRow{TableId(1), 7}, kOther{TableId(1), 8};
constexpr NodeId kAnna{1}, kBert{2};

HeldReplicates::Held From(NodeId node, uint32_t index = 0) { return {.replicate = {}, .from = node, .index = index}; }

TEST(HeldReplicates, ThoseOfARowAreTakenInTheirOrder) {
  HeldReplicates held;
  held.Add(kRow, From(kAnna, 2));
  held.Add(kOther, From(kBert));
  held.Add(kRow, From(kAnna, 1));
  const auto taken = held.Take(kRow);
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].index, 2U);
  EXPECT_EQ(taken[1].index, 1U);
  EXPECT_EQ(held.CountOf(kRow), 0U);
  EXPECT_TRUE(held.Take(kRow).empty());
  EXPECT_EQ(held.rows(), 1U);
}

TEST(HeldReplicates, RowsThatAreNoLongerCopiedHereGiveBackWhatWaited) {
  HeldReplicates held;
  held.Add(kRow, From(kAnna));
  held.Add(kOther, From(kBert));
  std::vector<NodeId> refused;
  held.EraseRowsIf([](TableKey row) { return row == kRow; },
                   [&](const HeldReplicates::Held& entry) { refused.push_back(entry.from); });
  EXPECT_EQ(refused, std::vector<NodeId>{kAnna});
  EXPECT_EQ(held.CountOf(kOther), 1U);
}

TEST(HeldReplicates, ARowWithoutAnyIsForgotten) {
  HeldReplicates held;
  held.Add(kRow, From(kAnna));
  held.Add(kRow, From(kBert));
  held.EraseIf([](TableKey, const HeldReplicates::Held& entry) { return entry.from == kAnna; });
  EXPECT_EQ(held.CountOf(kRow), 1U);
  held.EraseIf([](TableKey row, const HeldReplicates::Held&) { return row == kRow; });
  EXPECT_TRUE(held.empty());
}

}  // namespace
}  // namespace attune::ps::held_replicates_test
