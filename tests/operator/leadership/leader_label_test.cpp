// Which pods the Service for telemetry finds.
#include "operator/leadership/leader_label.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/leadership/fenced_api.h"
#include "operator/local/api/memory_api.h"

namespace attune::leadership::leader_label_test {
namespace {

using kube::Json;
using std::chrono::seconds;
using testing::ElementsAre;

class LeaderLabelTest : public testing::Test {
 protected:
  void SetUp() override {
    time_.Advance(seconds(1000));
    fence_.OpenUntil(time_.Now() + seconds(10));
    for (const char* name : {"a", "b", "other"}) {
      const Json pod = {{"apiVersion", "v1"},
                        {"kind", "Pod"},
                        {"metadata", {{"name", name}, {"namespace", "system"}, {"labels", {{"app", "attune"}}}}},
                        {"spec", {{"containers", Json::array({{{"name", "operator"}, {"image", "x"}}})}}}};
      ASSERT_TRUE(real_.Create(kube::kPods, pod).ok());
    }
  }
  std::vector<std::string> Found(const std::string& lease) {
    std::vector<std::string> names;
    const auto pods = real_.List(kube::kPods, {.label_selector = std::string(kLabelLeader) + "=" + lease});
    for (const Json& pod : pods->items) names.emplace_back(kube::Name(pod));
    return names;
  }

  ManualTime time_;
  Fence fence_{time_};
  local::MemoryApi real_{time_, {.own_thread = false}};
  FencedApi api_{real_, fence_, "system/lease"};
  LeaderLabel a_{api_, {"system", "a"}, "lease"}, b_{api_, {"system", "b"}, "lease"};
};

TEST_F(LeaderLabelTest, ItIsOnTheOneThatClaimedItLast) {
  ASSERT_TRUE(a_.Claim().ok());
  EXPECT_THAT(Found("lease"), ElementsAre("a"));
  ASSERT_TRUE(b_.Claim().ok());
  EXPECT_THAT(Found("lease"), ElementsAre("b"));
  EXPECT_EQ(kube::Label(*real_.Get(kube::kPods, {"system", "a"}), "app"), "attune");
}

TEST_F(LeaderLabelTest, WhatIsRightAlreadyIsNotWritten) {
  ASSERT_TRUE(a_.Claim().ok());
  const std::string version(kube::ResourceVersion(*real_.Get(kube::kPods, {"system", "a"})));
  fence_.OpenUntil(time_.Now());  // no write would pass
  EXPECT_TRUE(a_.Claim().ok());
  EXPECT_EQ(kube::ResourceVersion(*real_.Get(kube::kPods, {"system", "a"})), version);
}

TEST_F(LeaderLabelTest, TheLeaderOfAnotherElectionKeepsItsOwn) {
  LeaderLabel other(api_, {"system", "other"}, "another-lease");
  ASSERT_TRUE(other.Claim().ok());
  ASSERT_TRUE(a_.Claim().ok());
  EXPECT_THAT(Found("another-lease"), ElementsAre("other"));
  EXPECT_THAT(Found("lease"), ElementsAre("a"));
}

TEST_F(LeaderLabelTest, OneThatLeadsNoLongerTakesItFromNoOther) {
  ASSERT_TRUE(a_.Claim().ok());
  ASSERT_TRUE(b_.Claim().ok());
  time_.Advance(seconds(60));
  EXPECT_EQ(a_.Claim().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Found("lease"), ElementsAre("b"));
}

TEST_F(LeaderLabelTest, APodThatIsGoneIsAnErrorThatNamesIt) {
  LeaderLabel gone(api_, {"system", "gone"}, "lease");
  const Status claimed = gone.Claim();
  EXPECT_EQ(claimed.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(claimed)), testing::HasSubstr("gone"));
}

}  // namespace
}  // namespace attune::leadership::leader_label_test
