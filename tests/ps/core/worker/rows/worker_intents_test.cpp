// Rows that a worker's program has announced, from the announcement to the pull that finds them here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <utility>
#include <variant>
#include <vector>

#include "ps/core/worker/rows/worker_rows.h"
#include "tests/ps/core/worker/operations/small_cluster.h"

namespace attune::ps::worker_intents_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr TableId kTable{1};

class WorkerIntentsTest : public testing::Test {
 protected:
  WorkerIntentsTest() { rows_.routes().OpenTable(kTable, {"rows", {.dim = 1}}); }

  void Intend(std::vector<Key> keys, uint64_t step) {
    rows_.On(
        IntendCall{.table = kTable, .keys = std::move(keys), .begin = step, .end = step + 1, .age_max = seconds(1)},
        at_, now_, out_);
  }
  // True: at once.
  bool Pull(std::vector<Key> keys) {
    pulled_.assign(keys.size(), 0);
    if (rows_.PullHere(kTable, keys, pulled_, at_, now_)) return true;
    rows_.On(PullCall{.call = CallId(++calls_),
                      .deadline = now_ + seconds(10),
                      .table = kTable,
                      .keys = std::move(keys),
                      .rows = pulled_},
             at_, now_, out_);
    rows_.fetches().TakeEnded(now_, out_);
    return false;
  }
  void Push(Key key) {
    rows_.On(PushCall{.call = CallId(++calls_),
                      .deadline = now_ + seconds(10),
                      .table = kTable,
                      .keys = std::vector<Key>{key},
                      .gradients = std::vector<float>{1}},
             at_, now_, out_);
  }
  void EndStep() {
    rows_.fetches().StepEnded(now_);
    ++at_.clock;
    ++at_.step;
    rows_.fetches().StepBegan(at_, now_, out_);
  }
  std::vector<std::pair<NodeId, ps::Pull>> Asked() {
    std::vector<std::pair<NodeId, ps::Pull>> asked;
    for (Outgoing& outgoing : out_.send) {
      if (auto* pull = std::get_if<ps::Pull>(&outgoing.message)) asked.emplace_back(outgoing.to, std::move(*pull));
    }
    out_.send.clear();
    return asked;
  }
  void Answer(const std::pair<NodeId, ps::Pull>& asked, float value) {
    const auto count = static_cast<uint32_t>(asked.second.keys.size());
    rows_.OnMessage(asked.first,
                    PullReply{.request = asked.second.request,
                              .map_version = {},
                              .rows = std::vector<float>(count, value),
                              .positions = {.first = 0, .count = count, .list = {}},
                              .versions = std::vector<RowVersion>(count, RowVersion(1))},
                    now_, out_);
    rows_.fetches().TakeEnded(now_, out_);
  }
  size_t Completed() { return std::exchange(out_.completions, {}).size(); }

  const WorkerOptions options_{};
  ClusterView cluster_ = SmallCluster();
  LivenessLease lease_;
  WorkerRows rows_{options_, cluster_, lease_};
  WorkerOutputs out_;
  std::vector<float> pulled_;
  uint64_t calls_ = 0;
  StepPoint at_;
  MonotonicTime now_{seconds(100)};
  const Key first_ = KeyAt(kFirstServer), second_ = KeyAt(kSecondServer);
};

TEST_F(WorkerIntentsTest, AnnouncedRowsAreFetchedFromTheirHomesAndPulledFromHere) {
  Intend({first_, second_}, 1);
  const auto asked = Asked();
  ASSERT_EQ(asked.size(), 2U);
  for (const auto& pull : asked) Answer(pull, 5);
  EXPECT_EQ(Completed(), 0U) << "no caller waits";
  EndStep();
  EXPECT_TRUE(Pull({first_, second_, first_}));
  EXPECT_THAT(pulled_, ElementsAre(5, 5, 5));
  EXPECT_THAT(Asked(), IsEmpty());
  EXPECT_EQ(rows_.TakeCounts().accesses.fetched, 3U);
}

TEST_F(WorkerIntentsTest, NothingIsFetchedWhileAnnouncementsAreIgnoredAndWhatWasIsDropped) {
  Intend({first_}, 1);
  for (const auto& pull : Asked()) Answer(pull, 5);
  rows_.fetches().SetIgnored(true, now_, out_);
  Intend({second_}, 1);
  Intend({second_}, 2);
  EXPECT_THAT(Asked(), IsEmpty());
  EndStep();
  EXPECT_FALSE(Pull({first_}));
  EXPECT_EQ(Asked().size(), 1U);
  rows_.fetches().SetIgnored(false, now_, out_);
  EndStep();
  const auto asked = Asked();
  ASSERT_EQ(asked.size(), 1U) << "what was announced meanwhile is not forgotten";
  EXPECT_THAT(asked[0].second.keys.view(), ElementsAre(second_));
}

TEST_F(WorkerIntentsTest, HeartbeatsSayWhetherRowsAreAnnounced) {
  const auto announces = [this] {
    Heartbeat heartbeat;
    rows_.DescribeIn(heartbeat);
    return heartbeat.announces;
  };
  EXPECT_FALSE(announces());
  Intend({first_}, 1);
  EXPECT_TRUE(announces());
  EXPECT_TRUE(announces()) << "they still lie ahead";
  for (int i = 0; i < 2; ++i) EndStep();
  EXPECT_FALSE(announces());
  Intend({first_}, 1);
  EXPECT_TRUE(announces()) << "late, but there was an announcement";
}

TEST_F(WorkerIntentsTest, APullWaitsForWhatIsComingAndAsksForTheRest) {
  Intend({first_}, 1);
  const auto coming = Asked();
  EndStep();
  EXPECT_FALSE(Pull({second_, first_}));
  const auto rest = Asked();
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_THAT(rest[0].second.keys.view(), ElementsAre(second_));
  Answer(rest[0], 3);
  EXPECT_EQ(Completed(), 0U);
  Answer(coming[0], 4);
  EXPECT_EQ(Completed(), 1U);
  EXPECT_THAT(pulled_, ElementsAre(3, 4));
  const RowAccesses accesses = rows_.TakeCounts().accesses;
  EXPECT_EQ(accesses.waited, 1U);
  EXPECT_EQ(accesses.remote, 1U);
}

TEST_F(WorkerIntentsTest, AnOwnPushMakesWhatWasFetchedUselessAndItIsFetchedAgainBehindThePush) {
  Intend({first_}, 1);
  Answer(Asked()[0], 5);
  Push(first_);
  EXPECT_THAT(Asked(), IsEmpty()) << "with what the next step makes due, in one message";
  EndStep();
  const auto again = Asked();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].second.after.size(), 1U) << "not before that push is in it";
  EXPECT_FALSE(Pull({first_})) << "what was fetched before lacks the push";
  Answer(again[0], 6);
  EXPECT_EQ(Completed(), 1U);
  EXPECT_THAT(pulled_, ElementsAre(6));
  Push(first_);
  EndStep();
  EXPECT_THAT(Asked(), IsEmpty()) << "no later step uses it";
}

TEST_F(WorkerIntentsTest, ARowThatWasReadInAnotherWayIsNotReadFromAnOlderFetch) {
  EXPECT_FALSE(Pull({first_}));
  const auto pulled = Asked();
  Intend({first_}, 1);
  Answer(Asked()[0], 4);
  Answer(pulled[0], 5);
  EndStep();
  EXPECT_FALSE(Pull({first_})) << "5 has been seen";
}

TEST_F(WorkerIntentsTest, AFetchThatIsRefusedOrTooLateIsAskedForByTheCallThatWaits) {
  Intend({first_}, 1);
  const auto coming = Asked();
  EndStep();
  EXPECT_FALSE(Pull({first_}));
  EXPECT_THAT(Asked(), IsEmpty());
  rows_.OnMessage(kFirstServer,
                  PullRefused{.request = coming[0].second.request, .status = Error(StatusCode::kNotFound, "no table")},
                  now_, out_);
  rows_.fetches().TakeEnded(now_, out_);
  EXPECT_EQ(Completed(), 0U);
  const auto again = Asked();
  ASSERT_EQ(again.size(), 1U);
  Answer(again[0], 9);
  EXPECT_EQ(Completed(), 1U);
  EXPECT_THAT(pulled_, ElementsAre(9));
}

TEST_F(WorkerIntentsTest, ACallThatEndsByItsDeadlineIsForgottenByTheFetch) {
  Intend({first_}, 1);
  const auto coming = Asked();
  EndStep();
  EXPECT_FALSE(Pull({first_}));
  now_ += seconds(10);
  rows_.EndOverdue(now_, out_);
  ASSERT_EQ(out_.completions.size(), 1U);
  EXPECT_EQ(out_.completions[0].status.code(), StatusCode::kDeadlineExceeded);
  out_.completions.clear();
  Answer(coming[0], 5);
  EXPECT_EQ(Completed(), 0U);
  EXPECT_THAT(pulled_, ElementsAre(0)) << "its caller's memory is left alone";
}

TEST_F(WorkerIntentsTest, RowsAreNotReadPastTheirAge) {
  Intend({first_}, 1);
  Answer(Asked()[0], 5);
  EndStep();
  now_ += milliseconds(1001);
  EXPECT_FALSE(Pull({first_}));
  EXPECT_EQ(Asked().size(), 1U);
}

TEST_F(WorkerIntentsTest, AfterALossNothingIsReadThatWasFetchedBefore) {
  Intend({first_}, 1);
  Answer(Asked()[0], 5);
  rows_.Reissue(now_, out_);
  EndStep();
  EXPECT_FALSE(Pull({first_}));
}

}  // namespace
}  // namespace attune::ps::worker_intents_test
