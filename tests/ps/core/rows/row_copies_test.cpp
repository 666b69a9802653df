#include "ps/core/rows/row_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/ps/core/rows/node_parts.h"

namespace attune::ps::row_copies_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr NodeId kSelf = NodeParts::kSelf, kOwner = NodeParts::kPeer, kNext = NodeParts::kThird;
constexpr NodeId kWorker = NodeParts::kWorker;
constexpr TableId kTable = NodeParts::kTable;

// This node is backup of all shards; their home is the peer.
class RowCopiesTest : public testing::Test {
 protected:
  RowCopiesTest() {
    parts_.AdoptChanged([](ShardMap& map) {
      for (Shard& shard : map.shards) shard = {.home = kOwner, .backup = kSelf};
    });
  }
  static Replicate ReplicateOf(uint64_t sequence, Key key, RowVersion version) {
    Replicate replicate{
        .origin = kWorker, .sequence = SequenceNumber(sequence), .table = kTable, .map_version = {}, .acked_below = {}};
    replicate.positions = {.first = 0, .count = 1, .list = {}};
    replicate.keys = std::vector<Key>{key};
    replicate.gradients = std::vector<float>{-1};
    replicate.versions = std::vector<RowVersion>{version};
    replicate.owner = kOwner;
    replicate.ack_wanted = true;
    return replicate;
  }
  // So many pushes to a copy of the row at a worker, which have raised its value by `change`.
  static Replicate FoldOf(uint64_t sequence, Key key, RowVersion version, uint32_t pushes, float change) {
    Replicate replicate = ReplicateOf(sequence, key, version);
    replicate.gradients = std::vector<float>{change};
    replicate.folds = {{.pushes = pushes, .updates = pushes}};
    return replicate;
  }
  void Take(Replicate replicate) { copies_.Take(kOwner, std::move(replicate), parts_.out); }
  void Recover() {
    parts_.AdoptChanged([](ShardMap& map) {
      map.recovered_at = map.version;
      ++map.recoveries;
    });
  }
  float Copy(Key key) { return NodeParts::ValueOf(parts_.copies(), key); }

  NodeParts parts_;
  RowCopies copies_{parts_.node, parts_.tables, parts_.shards, parts_.records};
};

TEST_F(RowCopiesTest, ABackupAppliesWhatTheOwnerReplicatesAndAcknowledgesToTheOrigin) {
  Take(ReplicateOf(1, 7, RowVersion(0, 1)));
  EXPECT_EQ(Copy(7), 1.0F);
  const auto acks = parts_.Sent<PushAck>();
  ASSERT_THAT(acks, SizeIs(1));
  EXPECT_EQ(acks[0].first, kWorker);
}

TEST_F(RowCopiesTest, ANextBackupHasToHaveItBeforeTheOriginMayKnow) {
  parts_.AdoptChanged([](ShardMap& map) {
    for (Shard& shard : map.shards) shard.next_backup = kNext;
  });
  Take(ReplicateOf(1, 7, RowVersion(0, 1)));
  EXPECT_EQ(Copy(7), 1.0F);
  ASSERT_THAT(parts_.out.send, SizeIs(1));
  const auto relayed = parts_.Sent<Replicate>();
  ASSERT_THAT(relayed, SizeIs(1));
  EXPECT_EQ(relayed[0].first, kNext);
  EXPECT_TRUE(relayed[0].second.relayed);
}

TEST_F(RowCopiesTest, APushWaitsForTheOneBeforeIt) {
  Take(ReplicateOf(2, 7, RowVersion(0, 2)));
  EXPECT_EQ(Copy(7), 0.0F);
  EXPECT_EQ(copies_.rows_held(), 1U);
  EXPECT_THAT(parts_.Sent<InstallWanted>(), SizeIs(1)) << "the copy may be missing";
  Take(ReplicateOf(1, 7, RowVersion(0, 1)));
  EXPECT_EQ(Copy(7), 2.0F);
  EXPECT_EQ(copies_.rows_held(), 0U);
  EXPECT_THAT(parts_.Sent<PushAck>(), SizeIs(2));
}

TEST_F(RowCopiesTest, ACopyThatComesMakesWhatWaitsForItFit) {
  Take(ReplicateOf(3, 7, RowVersion(0, 3)));
  const Install install{.map_version = {},
                        .install = 5,
                        .rows = {.table = kTable,
                                 .keys = std::vector<Key>{7},
                                 .versions = std::vector<RowVersion>{RowVersion(0, 2)},
                                 .move_numbers = std::vector<uint16_t>{0},
                                 .values = std::vector<float>{2}},
                        .records = {}};
  parts_.out.send.clear();
  copies_.Take(kOwner, install, parts_.out);
  EXPECT_EQ(Copy(7), 3.0F);
  const auto acks = parts_.Sent<InstallAck>();
  ASSERT_THAT(acks, SizeIs(1));
  EXPECT_EQ(acks[0].second.install, 5U);
}

TEST_F(RowCopiesTest, AnOlderCopyDoesNotReplaceANewerOne) {
  Take(ReplicateOf(1, 7, RowVersion(0, 1)));
  Take(ReplicateOf(2, 7, RowVersion(0, 2)));
  const Install install{.map_version = {},
                        .rows = {.table = kTable,
                                 .keys = std::vector<Key>{7},
                                 .versions = std::vector<RowVersion>{RowVersion(0, 1)},
                                 .move_numbers = std::vector<uint16_t>{0},
                                 .values = std::vector<float>{1}},
                        .records = {}};
  copies_.Take(kOwner, install, parts_.out);
  EXPECT_EQ(Copy(7), 2.0F);
}

TEST_F(RowCopiesTest, AReplicateOfTheWrongLengthIsRejected) {
  Replicate replicate = ReplicateOf(1, 7, RowVersion(0, 1));
  EXPECT_TRUE(copies_.Admit(kOwner, replicate, parts_.out));
  replicate.gradients = std::vector<float>{1, 2};
  EXPECT_FALSE(copies_.Admit(kOwner, replicate, parts_.out));
  EXPECT_THAT(parts_.out.rejected, SizeIs(1));
}

TEST_F(RowCopiesTest, ANodeThatIsNoBackupRefuses) {
  const auto changes = parts_.AdoptChanged([](ShardMap& map) {
    for (Shard& shard : map.shards) shard.backup = kNext;
  });
  Take(ReplicateOf(1, 7, RowVersion(0, 1)));
  EXPECT_FALSE(parts_.copies().Contains(7));
  EXPECT_THAT(parts_.Sent<ReplicateRefused>(), SizeIs(1));
  EXPECT_THAT(changes.dropped, SizeIs(4));
}

TEST_F(RowCopiesTest, CopiesOfOtherShardsAreDroppedAndWhatIsHeldIsRefused) {
  Take(ReplicateOf(1, 7, RowVersion(0, 1)));
  Take(ReplicateOf(3, 7, RowVersion(0, 3)));
  parts_.out.send.clear();
  const uint32_t shards[] = {parts_.node.ShardOf(7)};
  copies_.Drop(shards, parts_.out);
  EXPECT_FALSE(parts_.copies().Contains(7));
  EXPECT_EQ(copies_.rows_held(), 0U);
  EXPECT_THAT(parts_.Sent<ReplicateRefused>(), SizeIs(1));
}

TEST_F(RowCopiesTest, CopiesBecomeTheRowsThatNoMemberOwns) {
  Take(ReplicateOf(1, 7, RowVersion(0, 1)));
  Take(ReplicateOf(2, 8, RowVersion(0, 1)));
  Recover();
  const auto is_owned = [](TableKey row) { return row.key == 8; };
  for (uint32_t shard = 0; shard < 4; ++shard) copies_.Promote(shard, is_owned, parts_.out);
  EXPECT_TRUE(parts_.rows().Contains(7));
  EXPECT_EQ(NodeParts::VersionOf(parts_.rows(), 7), RowVersion(1, 1));
  EXPECT_FALSE(parts_.rows().Contains(8));
  EXPECT_EQ(parts_.copies().row_count(), 0U);
  EXPECT_TRUE(parts_.records.filter().HasRecord(kWorker, SequenceNumber(1))) << "its pushes count as applied";
}

TEST_F(RowCopiesTest, AHomeGetsTheCopiesThatItNames) {
  Take(ReplicateOf(1, 7, RowVersion(0, 1)));
  Recover();
  parts_.out.send.clear();
  const FetchRows fetch{.map_version = {},
                        .recovered_at = parts_.node.map().recovered_at,
                        .table = kTable,
                        .keys = std::vector<Key>{7},
                        .shards = {},
                        .last = true};
  copies_.Serve(kOwner, fetch, parts_.out);
  const auto fetched = parts_.Sent<FetchedRows>();
  ASSERT_THAT(fetched, SizeIs(2));
  EXPECT_THAT(ListOf(fetched[0].second.rows.keys), ElementsAre(7));
  EXPECT_THAT(ListOf(fetched[0].second.rows.versions), ElementsAre(RowVersion(1, 1))) << "in the era of the recovery";
  EXPECT_TRUE(fetched[1].second.last);
}

TEST_F(RowCopiesTest, AHomeGetsAllCopiesButThoseThatItKnows) {
  Take(ReplicateOf(1, 7, RowVersion(0, 1)));
  Take(ReplicateOf(2, 8, RowVersion(0, 1)));
  Recover();
  parts_.out.send.clear();
  FetchRows fetch{.map_version = {},
                  .recovered_at = parts_.node.map().recovered_at,
                  .table = kTable,
                  .keys = std::vector<Key>{7},
                  .all_but = true,
                  .shards = {}};
  copies_.Serve(kOwner, fetch, parts_.out);
  EXPECT_THAT(parts_.out.send, IsEmpty()) << "the request is not complete";
  fetch.keys = {};
  fetch.shards = std::vector<ShardId>{ShardId(0), ShardId(1), ShardId(2), ShardId(3)};
  fetch.last = true;
  copies_.Serve(kOwner, fetch, parts_.out);
  const auto fetched = parts_.Sent<FetchedRows>();
  ASSERT_THAT(fetched, SizeIs(2));
  EXPECT_THAT(ListOf(fetched[0].second.rows.keys), ElementsAre(8));
}

TEST_F(RowCopiesTest, AfterACrashCopiesThatAreMissingAreAskedForAgain) {
  Take(ReplicateOf(2, 7, RowVersion(0, 2)));
  parts_.out.send.clear();
  copies_.AskAgain(parts_.out);
  const auto wanted = parts_.Sent<InstallWanted>();
  ASSERT_THAT(wanted, SizeIs(1));
  EXPECT_EQ(wanted[0].first, kOwner);
  EXPECT_THAT(ListOf(wanted[0].second.keys), ElementsAre(7));
}

// --- folds

TEST_F(RowCopiesTest, AFoldIsAppliedWithAllItsPushes) {
  Take(FoldOf(1, 7, RowVersion(0, 3), 3, 10));
  EXPECT_EQ(Copy(7), 10.0F) << "the first of all";
  Take(ReplicateOf(2, 7, RowVersion(0, 4)));
  Take(FoldOf(3, 7, RowVersion(0, 6), 2, 20));
  EXPECT_EQ(Copy(7), 31.0F);
  EXPECT_EQ(NodeParts::VersionOf(parts_.copies(), 7), RowVersion(0, 6));
  EXPECT_EQ(copies_.rows_held(), 0U);
  EXPECT_THAT(parts_.Sent<PushAck>(), SizeIs(3));
}

TEST_F(RowCopiesTest, AFoldWaitsForWhatComesBeforeIt) {
  Take(FoldOf(3, 7, RowVersion(0, 6), 2, 20));
  Take(FoldOf(2, 7, RowVersion(0, 4), 1, 5));
  EXPECT_FALSE(parts_.copies().Contains(7));
  EXPECT_EQ(copies_.rows_held(), 1U);
  EXPECT_THAT(parts_.Sent<PushAck>(), IsEmpty());
  Take(FoldOf(1, 7, RowVersion(0, 3), 3, 10));
  EXPECT_EQ(Copy(7), 35.0F);
  EXPECT_EQ(NodeParts::VersionOf(parts_.copies(), 7), RowVersion(0, 6));
  EXPECT_EQ(copies_.rows_held(), 0U);
  EXPECT_THAT(parts_.Sent<PushAck>(), SizeIs(3));
}

TEST_F(RowCopiesTest, AFoldThatComesTwiceIsAcknowledgedTwiceAndAppliedOnce) {
  Take(FoldOf(1, 7, RowVersion(0, 3), 3, 10));
  Take(FoldOf(1, 7, RowVersion(0, 3), 3, 10));
  EXPECT_EQ(Copy(7), 10.0F);
  EXPECT_EQ(NodeParts::VersionOf(parts_.copies(), 7), RowVersion(0, 3));
  EXPECT_THAT(parts_.Sent<PushAck>(), SizeIs(2));
  EXPECT_THAT(parts_.Sent<InstallWanted>(), IsEmpty());
}

TEST_F(RowCopiesTest, OfAFoldOfTwoRowsEachIsTakenWhenItFits) {
  Replicate both = FoldOf(2, 7, RowVersion(0, 5), 2, 10);
  both.positions = {.first = 0, .count = 2, .list = {}};
  both.keys = std::vector<Key>{7, 8};
  both.gradients = std::vector<float>{10, 20};
  both.versions = std::vector<RowVersion>{RowVersion(0, 5), RowVersion(0, 4)};
  both.folds = {{.pushes = 2, .updates = 2}, {.pushes = 4, .updates = 4}};
  Take(both);
  EXPECT_FALSE(parts_.copies().Contains(7));
  EXPECT_EQ(Copy(8), 20.0F);
  EXPECT_EQ(NodeParts::VersionOf(parts_.copies(), 8), RowVersion(0, 4));
  Take(FoldOf(1, 7, RowVersion(0, 3), 3, 1));
  EXPECT_EQ(Copy(7), 11.0F);
  EXPECT_EQ(NodeParts::VersionOf(parts_.copies(), 7), RowVersion(0, 5));
}

TEST_F(RowCopiesTest, AFoldThatBeginsARowAfterARecoveryBeginsItInThatEra) {
  Recover();
  Take(FoldOf(1, 7, RowVersion(1, 3), 3, 10));
  EXPECT_EQ(Copy(7), 10.0F);
  EXPECT_EQ(NodeParts::VersionOf(parts_.copies(), 7), RowVersion(1, 3));
}

TEST_F(RowCopiesTest, AFoldIsPassedOnWhole) {
  parts_.AdoptChanged([](ShardMap& map) {
    for (Shard& shard : map.shards) shard.next_backup = kNext;
  });
  const Replicate fold = FoldOf(1, 7, RowVersion(0, 3), 3, 10);
  Take(fold);
  const auto relayed = parts_.Sent<Replicate>();
  ASSERT_THAT(relayed, SizeIs(1));
  EXPECT_EQ(relayed[0].second.folds, fold.folds);
  EXPECT_EQ(relayed[0].second.gradients, fold.gradients);
}

}  // namespace
}  // namespace attune::ps::row_copies_test
