#include "ps/core/rows/row_pulls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "ps/core/protocol/limits.h"
#include "tests/ps/core/rows/node_parts.h"

namespace attune::ps::row_pulls_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr NodeId kPeer = NodeParts::kPeer, kWorker = NodeParts::kWorker;
constexpr MonotonicTime kNow{std::chrono::seconds(10)};

class RowPullsTest : public testing::Test {
 protected:
  static Pull PullOf(const std::vector<Key>& keys, const std::vector<After>& after = {}) {
    Pull pull{.origin = kWorker,
              .request = RequestId(5),
              .table = NodeParts::kTable,
              .map_version = {},
              .acked_below = {},
              .remaining = std::chrono::seconds(1)};
    pull.keys = keys;
    pull.after = after;
    pull.positions = {.first = 0, .count = static_cast<uint32_t>(keys.size()), .list = {}};
    return pull;
  }
  static After AfterPush(uint64_t sequence, uint32_t key_index = 0) {
    return {.sequence = SequenceNumber(sequence), .position = 0, .key_index = key_index};
  }
  void Decide(uint64_t sequence, Key key) {
    parts_.records.filter().Record(kWorker, SequenceNumber(sequence), NodeParts::kTable,
                                   {.first = 0, .count = 1, .list = {}}, {&key, 1},
                                   DuplicateFilter::Decision::kApplied);
  }

  NodeParts parts_;
  RowPulls pulls_{parts_.node, parts_.tables, parts_.records};
};

TEST_F(RowPullsTest, APullIsAnsweredAtOnceWhenNothingHasToComeFirst) {
  pulls_.Take(PullOf({7, 8}), kNow, parts_.out);
  const auto replies = parts_.Sent<PullReply>();
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_EQ(replies[0].first, kWorker);
  EXPECT_EQ(replies[0].second.rows.size(), 2U);
}

TEST_F(RowPullsTest, APullWaitsForItsWorkersOwnPush) {
  pulls_.Take(PullOf({7}, {AfterPush(1)}), kNow, parts_.out);
  EXPECT_THAT(parts_.Sent<PullReply>(), IsEmpty());
  EXPECT_EQ(pulls_.size(), 1U);
  pulls_.Retry(kWorker, parts_.out);
  EXPECT_EQ(pulls_.size(), 1U) << "it is not decided yet";
  Decide(1, 7);
  pulls_.Retry(kPeer, parts_.out);
  EXPECT_EQ(pulls_.size(), 1U) << "another worker's";
  pulls_.Retry(kWorker, parts_.out);
  EXPECT_THAT(parts_.Sent<PullReply>(), SizeIs(1));
  EXPECT_EQ(pulls_.size(), 0U);
}

TEST_F(RowPullsTest, ASettledPushIsContained) {
  parts_.records.filter().MergeAckedBelow(kWorker, SequenceNumber(1));
  pulls_.Take(PullOf({7}, {AfterPush(1)}), kNow, parts_.out);
  EXPECT_THAT(parts_.Sent<PullReply>(), SizeIs(1));
}

TEST_F(RowPullsTest, APullIsDroppedAtItsDeadline) {
  pulls_.Take(PullOf({7}, {AfterPush(1)}), kNow, parts_.out);
  EXPECT_EQ(pulls_.next_deadline(), kNow + std::chrono::seconds(1));
  pulls_.Expire(kNow + std::chrono::seconds(1));
  EXPECT_EQ(pulls_.size(), 0U);
  Pull late = PullOf({7}, {AfterPush(1)});
  late.remaining = Duration::zero();
  pulls_.Take(std::move(late), kNow, parts_.out);
  EXPECT_EQ(pulls_.size(), 0U) << "no caller waits for it";
}

TEST_F(RowPullsTest, PullsThatCannotBeAnsweredAreRefused) {
  Pull unknown = PullOf({7});
  unknown.table = TableId(2);
  pulls_.Take(std::move(unknown), kNow, parts_.out);
  EXPECT_FALSE(pulls_.Admit(PullOf(std::vector<Key>(kFloatsPerMessageMax + 1)), parts_.out));
  EXPECT_TRUE(pulls_.Admit(PullOf({7}), parts_.out));
  for (size_t i = 0; i <= kParkedPullsPerOriginMax; ++i) {
    pulls_.Take(PullOf({7}, {AfterPush(1)}), kNow, parts_.out);
  }
  const auto refused = parts_.Sent<PullRefused>();
  ASSERT_THAT(refused, SizeIs(3));
  EXPECT_EQ(refused[0].second.status.code(), StatusCode::kNotFound);
  EXPECT_EQ(refused[1].second.status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused[2].second.status.code(), StatusCode::kResourceExhausted);
}

TEST_F(RowPullsTest, PullsOfRowsWithoutPushesFollowTheirShardToItsNewHome) {
  const std::vector<Key> with_row{7};
  ASSERT_TRUE(parts_.rows().CreateRows(with_row, RowVersion()).ok());
  pulls_.Take(PullOf({7}, {AfterPush(1)}), kNow, parts_.out);
  pulls_.Take(PullOf({8}, {AfterPush(1)}), kNow, parts_.out);
  const uint32_t shards[] = {parts_.node.ShardOf(7), parts_.node.ShardOf(8)};
  const std::vector<Pull> taken = pulls_.TakeElsewhere(shards);
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].keys[0], 8U);
  EXPECT_EQ(pulls_.size(), 1U);
}

TEST_F(RowPullsTest, PullsFollowRowsThatLeave) {
  pulls_.Take(PullOf({7, 8}, {AfterPush(1)}), kNow, parts_.out);
  const std::vector<Key> left{7};
  pulls_.SendAfter(NodeParts::kTable, left, kPeer, kNow + std::chrono::milliseconds(400), parts_.out);
  ASSERT_THAT(parts_.out.send, SizeIs(2));
  EXPECT_EQ(std::get<PullReply>(parts_.out.send[1].message).positions.At(0), 1U)
      << "the other row waited for nothing of its own";
  const auto sent = parts_.Sent<Pull>();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].first, kPeer);
  EXPECT_EQ(sent[0].second.keys.size(), 1U);
  EXPECT_EQ(sent[0].second.remaining, std::chrono::milliseconds(600));
  EXPECT_EQ(pulls_.size(), 0U);
}

TEST_F(RowPullsTest, PullsOfARemovedWorkerAreForgotten) {
  pulls_.Take(PullOf({7}, {AfterPush(1)}), kNow, parts_.out);
  pulls_.Forget(kWorker);
  EXPECT_EQ(pulls_.size(), 0U);
}

}  // namespace
}  // namespace attune::ps::row_pulls_test
