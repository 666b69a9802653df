#include "ps/core/rows/row_recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/ps/core/rows/node_parts.h"

namespace attune::ps::row_recovery_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr NodeId kSelf = NodeParts::kSelf, kPeer = NodeParts::kPeer, kLost = NodeParts::kThird;
constexpr TableId kTable = NodeParts::kTable;

class RowRecoveryTest : public testing::Test {
 protected:
  // The third server fails; `change(Shard&)` says what becomes of each shard.
  template <typename Change>
  void Fail(Change&& change) {
    parts_.AdoptChanged([&](ShardMap& map) {
      map.recovered_at = map.version;
      ++map.recoveries;
      std::erase_if(map.members, [](const Member& member) { return member.node == kLost; });
      for (Shard& shard : map.shards) change(shard);
    });
    recovery_.Forget();
    recovery_.Begin(parts_.out);
  }
  void Report(NodeId from, const DirectoryBatch& entries = {}, bool last = true) {
    EXPECT_TRUE(recovery_.On(
        from,
        OwnersReport{
            .map_version = {}, .recovered_at = parts_.node.map().recovered_at, .entries = entries, .last = last}));
  }
  static DirectoryBatch Entry(Key key, NodeId owner, uint16_t move_number) {
    return {.table = kTable,
            .keys = std::vector<Key>{key},
            .owners = std::vector<NodeId>{owner},
            .move_numbers = std::vector<uint16_t>{move_number}};
  }
  const RowDirectory::Entry* EntryOf(Key key) const { return parts_.shards.directory().Find({kTable, key}); }

  NodeParts parts_;
  OpenHandovers handovers_;
  RowCopies copies_{parts_.node, parts_.tables, parts_.shards, parts_.records};
  RowInstalls installs_{parts_.node, parts_.tables, parts_.shards, parts_.records};
  RowRestore restore_{parts_.node, parts_.tables, parts_.shards, parts_.records, installs_};
  RowRecovery recovery_{parts_.node, parts_.tables, parts_.shards, handovers_, copies_, restore_};
};

TEST_F(RowRecoveryTest, AHomeAsksAllOwnersAndKeepsWhatTheyReport) {
  Fail([](Shard&) {});
  const auto asked = parts_.Sent<CollectOwners>();
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(asked[0].first, kPeer);
  EXPECT_FALSE(recovery_.Resolve(parts_.out).has_value());
  Report(kPeer, Entry(7, kPeer, 4), false);
  EXPECT_FALSE(recovery_.Resolve(parts_.out).has_value()) << "it has more to report";
  Report(kPeer);
  const auto resolved = recovery_.Resolve(parts_.out);
  ASSERT_TRUE(resolved.has_value());
  EXPECT_THAT(resolved->active, ElementsAre(0, 1, 2, 3));
  ASSERT_NE(EntryOf(7), nullptr);
  EXPECT_EQ(EntryOf(7)->owner, kPeer);
  EXPECT_EQ(EntryOf(7)->move_number, 4U);
  EXPECT_FALSE(recovery_.Resolve(parts_.out).has_value()) << "it is resolved";
}

TEST_F(RowRecoveryTest, ReportsOfAnEarlierRecoveryAreIgnored) {
  Fail([](Shard&) {});
  EXPECT_FALSE(recovery_.On(kPeer, OwnersReport{.map_version = {}, .recovered_at = {}, .entries = {}, .last = true}));
  EXPECT_FALSE(recovery_.Resolve(parts_.out).has_value());
}

TEST_F(RowRecoveryTest, AMemberThatFailsTooIsNotWaitedFor) {
  Fail([](Shard&) {});
  recovery_.ForgetNode(kPeer);
  EXPECT_TRUE(recovery_.Resolve(parts_.out).has_value());
}

TEST_F(RowRecoveryTest, ARowOfTheLostServerWithoutACopyIsRestored) {
  parts_.shards.SetEntry({kTable, 7}, {.owner = kLost, .move_number = 1});
  Fail([](Shard&) {});
  Report(kPeer);
  const auto resolved = recovery_.Resolve(parts_.out);
  ASSERT_TRUE(resolved.has_value());
  EXPECT_THAT(resolved->restored, ElementsAre(parts_.node.ShardOf(7)));
  EXPECT_THAT(resolved->active, SizeIs(3));
  EXPECT_EQ(EntryOf(7), nullptr);
}

TEST_F(RowRecoveryTest, ARowOfTheLostServerComesFromItsBackup) {
  parts_.AdoptChanged([](ShardMap& map) {
    for (Shard& shard : map.shards) shard.backup = kPeer;
  });
  parts_.shards.SetEntry({kTable, 7}, {.owner = kLost, .move_number = 1});
  parts_.shards.SetEntry({kTable, 8}, {.owner = kLost, .move_number = 1});
  Fail([](Shard&) {});
  Report(kPeer);
  ASSERT_TRUE(recovery_.Resolve(parts_.out).has_value());
  EXPECT_EQ(recovery_.fetching(), 2U);
  const auto fetches = parts_.Sent<FetchRows>();
  ASSERT_THAT(fetches, SizeIs(2));
  EXPECT_THAT(ListOf(fetches[0].second.keys), testing::UnorderedElementsAre(7, 8));
  EXPECT_TRUE(fetches[1].second.last);

  FetchedRows fetched{.map_version = {}, .recovered_at = {}, .rows = {}, .records = {}};
  fetched.rows = {.table = kTable,
                  .keys = std::vector<Key>{7},
                  .versions = std::vector<RowVersion>{RowVersion(1, 1)},
                  .move_numbers = std::vector<uint16_t>{6},
                  .values = std::vector<float>{1}};
  recovery_.Take(fetched);
  EXPECT_THAT(ListOf(fetched.rows.move_numbers), ElementsAre(0)) << "moves are counted from the recovery";
  EXPECT_EQ(recovery_.fetching(), 1U);
  const auto absent = recovery_.EndFetches(kPeer);
  ASSERT_THAT(absent, SizeIs(1));
  EXPECT_THAT(absent.at(kTable), ElementsAre(8));
  EXPECT_EQ(recovery_.fetching(), 0U);
}

TEST_F(RowRecoveryTest, TheFormerBackupPromotesItsCopies) {
  parts_.AdoptChanged([](ShardMap& map) {
    for (Shard& shard : map.shards) shard = {.home = kLost, .backup = kSelf};
  });
  const std::vector<Key> keys{7, 8};
  ASSERT_TRUE(parts_.copies().CreateRows(keys, RowVersion(0, 1)).ok());
  Fail([](Shard& shard) { shard = {.home = kSelf}; });
  Report(kPeer, Entry(8, kPeer, 1));
  const auto resolved = recovery_.Resolve(parts_.out);
  ASSERT_TRUE(resolved.has_value());
  EXPECT_THAT(resolved->active, SizeIs(4));
  EXPECT_TRUE(parts_.rows().Contains(7));
  EXPECT_FALSE(parts_.rows().Contains(8)) << "its owner lives";
}

TEST_F(RowRecoveryTest, AHomeThatKnowsNothingOfAShardTakesAllCopiesOfItsBackup) {
  parts_.AdoptChanged([](ShardMap& map) {
    for (Shard& shard : map.shards) shard = {.home = kLost, .backup = kPeer};
  });
  Fail([](Shard& shard) { shard = {.home = kSelf, .backup = kPeer}; });
  Report(kPeer, Entry(7, kPeer, 1));
  const auto resolved = recovery_.Resolve(parts_.out);
  ASSERT_TRUE(resolved.has_value());
  EXPECT_THAT(resolved->active, IsEmpty());
  const auto fetches = parts_.Sent<FetchRows>();
  ASSERT_THAT(fetches, SizeIs(2));
  EXPECT_TRUE(fetches[0].second.all_but);
  EXPECT_THAT(ListOf(fetches[0].second.keys), ElementsAre(7));
  EXPECT_THAT(fetches[1].second.shards, SizeIs(4));
  EXPECT_FALSE(recovery_.EndFetchAll(kLost).has_value());
  ASSERT_TRUE(recovery_.EndFetchAll(kPeer).has_value());
  EXPECT_FALSE(recovery_.EndFetchAll(kPeer).has_value());
}

TEST_F(RowRecoveryTest, AMemberReportsItsRowsOnceItsHandoversHaveEnded) {
  parts_.AdoptChanged([](ShardMap& map) {
    for (Shard& shard : map.shards) shard.home = kPeer;
  });
  const std::vector<Key> keys{7};
  parts_.shards.AddForeign(parts_.rows(), keys, parts_.node.map(), kSelf);
  ASSERT_TRUE(parts_.rows().CreateRows(keys, RowVersion(0, 1)).ok());
  const OpenHandover handover{.to = kPeer,
                              .table = kTable,
                              .keys = std::vector<Key>{8},
                              .move_numbers = std::vector<uint16_t>{3},
                              .sent_under = parts_.node.map().version};
  parts_.shards.HandoverBegun(parts_.node.ShardOf(8));
  Fail([](Shard&) {});
  const MapVersion recovered_at = parts_.node.map().recovered_at;
  recovery_.On(kPeer, CollectOwners{.map_version = {}, .recovered_at = recovered_at}, parts_.out);
  EXPECT_THAT(parts_.Sent<OwnersReport>(), IsEmpty());
  parts_.shards.HandoverEnded(parts_.node.ShardOf(8));
  recovery_.Learn(handover, {.map_version = {}, .handover = 1, .arrived_at = recovered_at});
  recovery_.Answer(parts_.out);
  const auto reports = parts_.Sent<OwnersReport>();
  ASSERT_THAT(reports, SizeIs(2));
  EXPECT_THAT(ListOf(reports[0].second.entries.keys), ElementsAre(7, 8));
  EXPECT_THAT(ListOf(reports[0].second.entries.owners), ElementsAre(kSelf, kPeer));
  EXPECT_TRUE(reports[1].second.last);
}

TEST_F(RowRecoveryTest, ARowThatArrivedBeforeTheRecoveryIsReportedByItsReceiver) {
  Fail([](Shard&) {});
  const OpenHandover handover{.to = kPeer,
                              .table = kTable,
                              .keys = std::vector<Key>{8},
                              .move_numbers = std::vector<uint16_t>{3},
                              .sent_under = NodeParts::FirstMap().version};
  recovery_.Learn(handover, {.map_version = {}, .handover = 1, .arrived_at = NodeParts::FirstMap().version});
  Report(kPeer);
  ASSERT_TRUE(recovery_.Resolve(parts_.out).has_value());
  EXPECT_EQ(EntryOf(8), nullptr);
}

}  // namespace
}  // namespace attune::ps::row_recovery_test
