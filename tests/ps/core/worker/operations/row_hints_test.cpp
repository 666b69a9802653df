#include "ps/core/worker/operations/row_hints.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/ps/core/worker/operations/small_cluster.h"

namespace attune::ps::row_hints_test {
namespace {

constexpr TableId kTable{1};

class RowHintsTest : public testing::Test {
 protected:
  const ClusterView cluster_ = SmallCluster();
  const std::vector<Key> keys_ = {KeyAt(kFirstServer), KeyAt(kFirstServer, 1), KeyAt(kSecondServer)};
  RowHints hints_{16};

  void Pulled(NodeId from, Positions positions, std::vector<RowVersion> versions = {}) {
    const PullReply reply{
        .request = {}, .map_version = {}, .rows = {}, .positions = std::move(positions), .versions = versions};
    hints_.LearnFrom(reply, from, kTable, keys_, cluster_);
  }
  NodeId OwnerOf(size_t place) const { return hints_.owners().Find(kTable, keys_[place]); }
};

TEST_F(RowHintsTest, AnOwnerIsRememberedUntilTheHomeAnswers) {
  Pulled(kOtherWorker, {.list = {0, 2}});
  EXPECT_EQ(OwnerOf(0), kOtherWorker);
  EXPECT_EQ(OwnerOf(1), NodeId()) << "not answered by it";
  EXPECT_EQ(OwnerOf(2), kOtherWorker);
  Pulled(kFirstServer, {.first = 0, .count = 2, .list = {}});
  EXPECT_EQ(OwnerOf(0), NodeId()) << "the row is at its home again";
  EXPECT_EQ(OwnerOf(2), kOtherWorker);
}

TEST_F(RowHintsTest, AnAcknowledgementNamesTheOwner) {
  const Positions second{.first = 1, .count = 1, .list = {}};
  hints_.LearnFrom(PushAck{.sequence = {}, .map_version = {}, .positions = second, .owner = kOtherWorker}, kTable,
                   keys_, cluster_);
  EXPECT_EQ(OwnerOf(1), kOtherWorker);
  hints_.Forget(kOtherWorker);
  EXPECT_EQ(OwnerOf(1), NodeId());
}

TEST_F(RowHintsTest, NeitherThisNodeNorAStrangerIsAnOwner) {
  Pulled(kWorker, {.first = 0, .count = 3, .list = {}});
  Pulled(NodeId(77), {.first = 0, .count = 3, .list = {}});
  EXPECT_TRUE(hints_.owners().empty());
}

TEST_F(RowHintsTest, PositionsOutsideOfThePushAreIgnored) {
  const Positions beyond{.first = 2, .count = 5, .list = {}};
  hints_.LearnFrom(PushAck{.sequence = {}, .map_version = {}, .positions = beyond, .owner = kOtherWorker}, kTable,
                   keys_, cluster_);
  EXPECT_EQ(hints_.owners().size(), 1U);
}

TEST_F(RowHintsTest, TheVersionOfAWholePullIsTakenOnce) {
  const std::vector<RowVersion> versions(3, RowVersion(0, 5));
  Pulled(kFirstServer, {.first = 0, .count = 2, .list = {}}, versions);
  EXPECT_EQ(hints_.TakeSeen(kTable, keys_).second, RowVersion()) << "of a part nothing is known by its places";
  Pulled(kFirstServer, {.first = 0, .count = 3, .list = {}}, versions);
  EXPECT_EQ(hints_.TakeSeen(kTable, std::span(keys_).first(1)).second, RowVersion(0, 5));
  EXPECT_EQ(hints_.TakeSeen(kTable, std::span(keys_).first(1)).second, RowVersion());
}

TEST_F(RowHintsTest, StalenessIsOfPushesThatWereMeasured) {
  for (const uint64_t staleness : {uint64_t{4}, kNotMeasured, uint64_t{2}}) {
    hints_.LearnFrom(PushAck{.sequence = {}, .map_version = {}, .positions = {}, .owner = {}, .staleness = staleness},
                     kTable, keys_, cluster_);
  }
  const Staleness staleness = hints_.TakeStaleness();
  EXPECT_EQ(staleness.pushes, 2U);
  EXPECT_EQ(staleness.sum, 6U);
  EXPECT_EQ(staleness.max, 4U);
  EXPECT_EQ(hints_.TakeStaleness().pushes, 0U);
}

}  // namespace
}  // namespace attune::ps::row_hints_test
