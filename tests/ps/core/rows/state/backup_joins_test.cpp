#include "ps/core/rows/state/backup_joins.h"

#include <gtest/gtest.h>

#include <vector>

namespace attune::ps::backup_joins_test {
namespace {

constexpr TableId kTable{1}, kOtherTable{2};
constexpr NodeId kAnna{1}, kBert{2};
const BackupJoins::Id kJoin{MapVersion(1, 5), kAnna};

struct Sent {
  uint64_t install;
  TableId table;
  std::vector<Key> keys;
};

// Two rows a message.
struct Pumped {
  std::vector<Sent> installs;
  int markers = 0;
};
Pumped Pump(BackupJoins& joins, size_t in_flight_max, bool rows_are_here = true) {
  Pumped pumped;
  joins.Pump(
      in_flight_max, [](TableId) { return 2; },
      [&](const BackupJoins::Id&, uint64_t install, TableId table, const std::vector<Key>& keys) {
        if (rows_are_here) pumped.installs.push_back({install, table, keys});
        return rows_are_here;
      },
      [&](const BackupJoins::Id&) { ++pumped.markers; });
  return pumped;
}

TEST(BackupJoins, RowsGoInMessagesOfOneTableAsTheAnswersComeAndTheMarkerFollowsOnce) {
  BackupJoins joins;
  joins.Begin(kJoin, {0}, {{kTable, 1}, {kTable, 2}, {kTable, 3}, {kOtherTable, 4}});
  EXPECT_EQ(joins.rows_to_install(), 4U);
  const Pumped first = Pump(joins, 2);
  ASSERT_EQ(first.installs.size(), 2U);
  EXPECT_EQ(first.installs[0].keys, (std::vector<Key>{1, 2}));
  EXPECT_EQ(first.installs[1].keys, std::vector<Key>{3});
  EXPECT_EQ(first.markers, 0);
  EXPECT_TRUE(Pump(joins, 2).installs.empty()) << "two are in flight";
  EXPECT_FALSE(joins.Answered(first.installs[0].install, kBert)) << "it went to another node";
  EXPECT_TRUE(joins.Answered(first.installs[0].install, kAnna));
  EXPECT_FALSE(joins.Answered(first.installs[0].install, kAnna)) << "it is answered";
  const Pumped second = Pump(joins, 2);
  ASSERT_EQ(second.installs.size(), 1U);
  EXPECT_EQ(second.installs[0].table, kOtherTable);
  EXPECT_EQ(second.markers, 1);
  EXPECT_EQ(Pump(joins, 2).markers, 0);
}

TEST(BackupJoins, RowsThatHaveLeftMeanwhileTakeNoNumberAndNoPlaceInFlight) {
  BackupJoins joins;
  joins.Begin(kJoin, {0}, {{kTable, 1}, {kOtherTable, 2}});
  EXPECT_EQ(Pump(joins, 1, false).markers, 1);
  EXPECT_EQ(joins.open_installs(), 0U);
}

TEST(BackupJoins, AnEndedJoinReleasesWhatWaitsForItsAnswers) {
  BackupJoins joins;
  joins.Begin(kJoin, {0, 1}, {});
  const uint64_t install = joins.Open(kJoin, 9);
  EXPECT_TRUE(joins.EndUnless([](const BackupJoins::Id&, uint32_t shard) { return shard == 1; }).empty());
  EXPECT_FALSE(joins.empty()) << "one shard is left";
  const auto ended = joins.EndUnless([](const BackupJoins::Id&, uint32_t) { return false; });
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].withheld, 9U);
  EXPECT_TRUE(joins.empty());
  EXPECT_FALSE(joins.Answered(install, kAnna));
}

TEST(BackupJoins, AMarkerCountsForItsJoinAndItsNextBackupOnly) {
  BackupJoins joins;
  joins.Begin(kJoin, {0}, {});
  joins.MarkSent(kBert, MapVersion(1, 4), kAnna);
  joins.MarkSent(kBert, kJoin.first, kBert);
  const auto has_marker = [](const BackupJoins::Id&, const BackupJoins::Join& join) {
    return join.markers.contains(kBert);
  };
  EXPECT_FALSE(joins.UpdateDone(has_marker));
  joins.MarkSent(kBert, kJoin.first, kAnna);
  EXPECT_TRUE(joins.UpdateDone(has_marker));
  EXPECT_FALSE(joins.UpdateDone(has_marker)) << "that is known";
}

TEST(BackupJoins, AJoinIsDoneWhenItIsForAllItsNextBackups) {
  BackupJoins joins;
  joins.Begin(kJoin, {0}, {});
  joins.Begin({kJoin.first, kBert}, {1}, {});
  joins.UpdateDone([](const BackupJoins::Id& id, const BackupJoins::Join&) { return id.second == kAnna; });
  EXPECT_TRUE(joins.Done().empty());
  joins.UpdateDone([](const BackupJoins::Id&, const BackupJoins::Join&) { return true; });
  EXPECT_EQ(joins.Done(), std::vector<MapVersion>{kJoin.first});
}

}  // namespace
}  // namespace attune::ps::backup_joins_test
