#include "ps/core/worker/rows/worker_rows.h"

#include <gtest/gtest.h>

#include <utility>
#include <variant>
#include <vector>

#include "tests/ps/core/worker/operations/small_cluster.h"
#include "tests/ps/core/worker/rows/row_parts.h"

namespace attune::ps::worker_rows_test {
namespace {

using std::chrono::seconds;

constexpr TableId kTable{1};

class WorkerRowsTest : public testing::Test {
 protected:
  WorkerRowsTest() { rows_.routes().OpenTable(kTable, {"rows", {.dim = 1}}); }

  void Push(std::vector<Key> keys, WorkerRows& rows) {
    std::vector<float> gradients(keys.size(), 1);
    rows.On(PushCall{.call = CallId(++calls_),
                     .deadline = now_ + seconds(10),
                     .table = kTable,
                     .keys = std::move(keys),
                     .gradients = std::move(gradients)},
            {.step = 7}, now_, out_);
  }
  void Push(std::vector<Key> keys) { Push(std::move(keys), rows_); }
  void Pull(std::vector<Key> keys) {
    pulled_.assign(keys.size(), 0);
    rows_.On(PullCall{.call = CallId(++calls_),
                      .deadline = now_ + seconds(10),
                      .table = kTable,
                      .keys = std::move(keys),
                      .rows = pulled_},
             {}, now_, out_);
  }
  template <typename Kind>
  std::vector<std::pair<NodeId, Kind>> SentOf() {
    return TakeSent<Kind>(out_);
  }
  bool Acknowledge(uint64_t sequence, uint32_t first, uint32_t count, NodeId owner = NodeId()) {
    const Positions positions{.first = first, .count = count, .list = {}};
    return rows_.OnMessage(
        kFirstServer,
        PushAck{.sequence = SequenceNumber(sequence), .map_version = {}, .positions = positions, .owner = owner}, now_,
        out_);
  }

  const WorkerOptions options_{.pushes_in_flight_max = 2};
  ClusterView cluster_ = SmallCluster();
  LivenessLease lease_;
  WorkerRows rows_{options_, cluster_, lease_};
  WorkerOutputs out_;
  std::vector<float> pulled_;
  uint64_t calls_ = 0;
  MonotonicTime now_{seconds(100)};
};

TEST_F(WorkerRowsTest, APushGoesToTheHomesOfItsKeysWithEqualOnesSummed) {
  Push({KeyAt(kSecondServer), KeyAt(kFirstServer), KeyAt(kSecondServer)});
  const auto sent = SentOf<ps::Push>();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].first, kFirstServer);
  EXPECT_EQ(sent[1].first, kSecondServer);
  EXPECT_EQ(sent[1].second.gradients, Slice<float>(std::vector<float>{2}));
  EXPECT_EQ(sent[1].second.step, 7U);
}

TEST_F(WorkerRowsTest, APushThatWaitsForRoomIsSentWhenTheOldestIsSettled) {
  const Key key = KeyAt(kFirstServer);
  for (int i = 0; i < 3; ++i) Push({key});
  EXPECT_EQ(SentOf<ps::Push>().size(), 2U);
  EXPECT_FALSE(Acknowledge(2, 0, 1));
  EXPECT_TRUE(Acknowledge(1, 0, 1));
  rows_.pushes().SendWaiting(now_, out_);
  const auto sent = SentOf<ps::Push>();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].second.sequence, SequenceNumber(3));
  EXPECT_EQ(sent[0].second.acked_below, SequenceNumber(2));
}

TEST_F(WorkerRowsTest, APullNamesOwnPushesOfItsKeysThatAreOpen) {
  const Key key = KeyAt(kFirstServer);
  Push({key});
  Pull({key, KeyAt(kFirstServer, 1)});
  const auto sent = SentOf<ps::Pull>();
  ASSERT_EQ(sent.size(), 1U);
  ASSERT_EQ(sent[0].second.after.size(), 1U);
  EXPECT_EQ(sent[0].second.after[0].sequence, SequenceNumber(1));
  EXPECT_EQ(sent[0].second.after[0].key_index, 0U);
}

TEST_F(WorkerRowsTest, TheNextPushGoesToTheOwnerThatAcknowledgedTheLast) {
  const Key key = KeyAt(kFirstServer);
  Push({key});
  Acknowledge(1, 0, 1, kOtherWorker);
  SentOf<ps::Push>();
  Push({key});
  const auto sent = SentOf<ps::Push>();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].first, kOtherWorker);
  const NodeId gone[] = {kOtherWorker};
  rows_.AdoptMembers(gone, out_);
  Push({key});
  EXPECT_EQ(rows_.routes().hints().owners().size(), 0U);
}

TEST_F(WorkerRowsTest, WhatIsOpenIsIssuedAgainWhenANodeIsGoneOrIsBack) {
  Push({KeyAt(kFirstServer), KeyAt(kFirstServer, 1), KeyAt(kSecondServer)});
  Pull({KeyAt(kSecondServer, 1)});
  Acknowledge(1, 0, 1);
  out_.send.clear();
  rows_.Connected(kFirstServer, now_, out_);
  auto pushes = SentOf<ps::Push>();
  ASSERT_EQ(pushes.size(), 1U) << "to that node only";
  EXPECT_EQ(pushes[0].second.positions.first, 1U) << "what is settled is not sent again";
  rows_.Reissue(now_, out_);
  EXPECT_EQ(out_.send.size(), 3U);
}

TEST_F(WorkerRowsTest, CallsThatCannotBeServedAreRefusedBeforeAnythingIsSent) {
  rows_.On(PushCall{.call = CallId(1),
                    .deadline = kNever,
                    .table = TableId(9),
                    .keys = std::vector<Key>{1},
                    .gradients = std::vector<float>{1}},
           {}, now_, out_);
  rows_.On(PushCall{.call = CallId(2),
                    .deadline = kNever,
                    .table = kTable,
                    .keys = std::vector<Key>{1},
                    .gradients = std::vector<float>{1, 2}},
           {}, now_, out_);
  EXPECT_FALSE(rows_.Localize({.call = CallId(3), .deadline = kNever, .table = kTable, .keys = std::vector<Key>{1}},
                              now_, out_));
  ASSERT_EQ(out_.completions.size(), 3U);
  EXPECT_EQ(out_.completions[0].status.code(), StatusCode::kNotFound);
  EXPECT_EQ(out_.completions[1].status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(out_.completions[2].status.code(), StatusCode::kFailedPrecondition) << "this worker keeps no rows";
  EXPECT_TRUE(out_.send.empty());
  EXPECT_TRUE(rows_.pushes().window().empty());
}

TEST_F(WorkerRowsTest, TheNextWakeIsTheEarliestDeadlineOrResend) {
  EXPECT_EQ(rows_.WakeAt(), kNever);
  Push({KeyAt(kFirstServer)});
  EXPECT_EQ(rows_.WakeAt(), now_ + options_.reissue_after);
  Acknowledge(1, 0, 1);
  now_ += options_.reissue_after;
  rows_.EndOverdue(now_, out_);
  rows_.SendAgain(now_, out_);
  EXPECT_EQ(rows_.WakeAt(), kNever);
}

TEST_F(WorkerRowsTest, AMessageUnderANewerMapAsksForThatMap) {
  cluster_.SetConnected(kCoordinator);
  rows_.OnMessage(kFirstServer, Moved{.map_version = cluster_.map().version}, now_, out_);
  EXPECT_TRUE(out_.send.empty());
  rows_.OnMessage(kFirstServer, Moved{.map_version = MapVersion(1, 9)}, now_, out_);
  EXPECT_EQ(SentOf<MapRequest>().size(), 1U);
}

}  // namespace
}  // namespace attune::ps::worker_rows_test
