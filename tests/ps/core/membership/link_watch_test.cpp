#include "ps/core/membership/link_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>

namespace attune::ps::link_watch_test {
namespace {

using std::chrono::seconds;
constexpr NodeId kServer{1}, kOther{2}, kWorker{3};
constexpr Duration kTimeout = seconds(10);
constexpr MonotonicTime kStart{};

class LinkWatchTest : public testing::Test {
 protected:
  LinkWatchTest() {
    spared_[kServer] = {.role = Role::kServer, .index = 0, .has_rows = true};
    spared_[kOther] = {.role = Role::kServer, .index = 1};
    spared_[kWorker] = {.role = Role::kWorker, .index = 0};
  }
  // Each says that it does not reach the other one.
  void Apart(NodeId one, NodeId other) {
    (void)links_.Said(one, {other}, kStart);
    (void)links_.Said(other, {one}, kStart);
  }
  std::optional<NodeId> Check(MonotonicTime now = kStart + kTimeout, bool may_be_chosen = true) {
    return links_.Check(now, may_be_chosen, [this](NodeId id) {
      const auto spared = spared_.find(id);
      return spared == spared_.end() ? std::nullopt : std::optional(spared->second);
    });
  }

  std::map<NodeId, LinkWatch::Candidate> spared_;
  LinkWatch links_{kTimeout};
};

TEST_F(LinkWatchTest, OneOfTwoIsGivenUpAfterTheTimeout) {
  Apart(kServer, kWorker);
  EXPECT_FALSE(Check(kStart + kTimeout - Duration(1)));
  EXPECT_FALSE(Check(kStart + kTimeout, false)) << "another coordinator may be at work";
  EXPECT_EQ(Check(), kWorker) << "rows would have to be taken over";
  EXPECT_TRUE(links_.IsGivenUp(kWorker));
  EXPECT_FALSE(links_.IsGivenUp(kServer));
  EXPECT_FALSE(Check()) << "one at a time";
}

TEST_F(LinkWatchTest, AServerThatHoldsNothingGoesBeforeAWorker) {
  Apart(kOther, kWorker);
  EXPECT_EQ(Check(), kOther);
}

TEST_F(LinkWatchTest, OneWhoseVoteIsMissedGoesAfterAllOthers) {
  spared_[kOther].vote_is_missed = true;
  Apart(kOther, kWorker);
  EXPECT_EQ(Check(), kWorker);
}

TEST_F(LinkWatchTest, TheLastChoiceMayNotHaveHelped) {
  Apart(kServer, kWorker);
  ASSERT_EQ(Check(), kWorker);
  links_.Forget(kWorker);
  EXPECT_FALSE(links_.IsGivenUp(kWorker));
  constexpr NodeId kReplacement{4};
  spared_[kReplacement] = {.role = Role::kWorker, .index = 0};
  Apart(kServer, kReplacement);
  EXPECT_EQ(Check(), kServer) << "the worker of that index was given up before";
}

TEST_F(LinkWatchTest, OneThatCanBeSparedNoMoreIsReleased) {
  Apart(kServer, kWorker);
  ASSERT_EQ(Check(), kWorker);
  spared_.erase(kWorker);
  EXPECT_EQ(Check(), kServer);
  EXPECT_FALSE(links_.IsGivenUp(kWorker));
}

TEST_F(LinkWatchTest, OneThatHasItsLinksAgainIsReleased) {
  Apart(kServer, kWorker);
  ASSERT_EQ(Check(), kWorker);
  EXPECT_FALSE(links_.Said(kServer, {}, kStart)) << "the worker misses it still";
  EXPECT_TRUE(links_.Said(kWorker, {}, kStart));
  EXPECT_FALSE(Check());
  EXPECT_FALSE(links_.IsGivenUp(kWorker));
}

TEST_F(LinkWatchTest, TimeInWhichMembersCouldNotBeHeardDoesNotCount) {
  Apart(kServer, kWorker);
  links_.Forgive(seconds(5), kStart + seconds(6));
  EXPECT_FALSE(Check(kStart + kTimeout));
  EXPECT_TRUE(Check(kStart + kTimeout + seconds(5)));
}

TEST_F(LinkWatchTest, TheFirstMissingLinksAreNamed) {
  (void)links_.Said(kWorker, {NodeId(11), NodeId(12), NodeId(13), NodeId(14)}, kStart);
  const auto name = [](NodeId id) { return "node " + std::to_string(id.value()); };
  EXPECT_EQ(links_.Describe(kWorker, kStart + kTimeout, name),
            "node 3 has had no connection for 10 s to node 11, node 12, node 13 and 1 more");
}

}  // namespace
}  // namespace attune::ps::link_watch_test
