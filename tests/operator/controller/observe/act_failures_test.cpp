#include "operator/controller/observe/act_failures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/observe/names.h"
#include "operator/kube/client/api_error.h"

namespace attune::controller::act_failures_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Status kQuota = Error(StatusCode::kPermissionDenied, "pods \"p\" is forbidden: exceeded quota: q");
const Status kConflict = Error(StatusCode::kAborted, "the object has been modified");

class ActFailuresTest : public testing::Test {
 protected:
  Duration Fail(const std::string& name, const Status& status = kQuota) {
    return failures_.OnFailure("CreatePod", "CreatePod " + name, status, now_);
  }
  bool MayTry(const std::string& name) { return failures_.MayTry("CreatePod", "CreatePod " + name, now_); }

  ActFailures failures_;
  MonotonicTime now_{seconds(100)};
};

TEST_F(ActFailuresTest, EachWaitsForItselfAndLongerEveryTime) {
  EXPECT_TRUE(MayTry("a"));
  Duration before = Fail("a");
  EXPECT_FALSE(MayTry("a"));
  EXPECT_TRUE(MayTry("b")) << "not its failure";
  for (int i = 0; i < 12; ++i) {
    now_ += before;
    ASSERT_TRUE(MayTry("a"));
    const Duration delay = Fail("a");
    EXPECT_GE(delay, std::min<Duration>(before, ActFailures::kDelayMax));
    EXPECT_LE(delay, ActFailures::kDelayMax * 11 / 10);
    before = delay;
  }
  failures_.OnSuccess("CreatePod a");
  EXPECT_TRUE(MayTry("a"));
  EXPECT_EQ(failures_.NextTry(), kNever);
}

TEST_F(ActFailuresTest, NoSoonerThanTheServerAskedFor) {
  Status busy = Error(StatusCode::kUnavailable, "busy");
  kube::SetRetryAfter(busy, seconds(90));
  EXPECT_GE(Fail("a", Annotate(busy, "creating a")), seconds(90)) << "also through the words put in front";
}

TEST_F(ActFailuresTest, AKindThatKeepsFailingPausesForAllItsObjects) {
  for (const char* name : {"a", "b", "c", "d"}) Fail(name);
  EXPECT_FALSE(MayTry("e"));
  EXPECT_TRUE(failures_.MayTry("DeletePod", "DeletePod a", now_)) << "another kind";
  now_ += ActFailures::kPause;
  EXPECT_TRUE(MayTry("e"));
}

TEST_F(ActFailuresTest, ARefusalIsReportedOnceAndAsLongAsItLasts) {
  Fail("a");
  ASSERT_THAT(failures_.TakeNews(), SizeIs(1));
  now_ += seconds(1);
  Fail("a", Error(StatusCode::kPermissionDenied, "pods \"p\" is forbidden: exceeded quota: q, used: another number"));
  EXPECT_THAT(failures_.TakeNews(), IsEmpty());
  ASSERT_THAT(failures_.Blocked(), SizeIs(1));
  EXPECT_EQ(failures_.Blocked()[0].reason, kReasonQuota);
  EXPECT_THAT(failures_.Blocked()[0].message, testing::AllOf(HasSubstr("exceeded quota"), HasSubstr("ResourceQuota")));
  Fail("a", Error(StatusCode::kInvalidArgument, "admission webhook denied the request"));
  EXPECT_THAT(failures_.TakeNews(), SizeIs(1)) << "another reason is news";
  failures_.OnSuccess("CreatePod a");
  EXPECT_THAT(failures_.Blocked(), IsEmpty());
}

TEST_F(ActFailuresTest, WhatIsMissingForAKindOfActIsReportedOnceForAllOfThem) {
  const Status right =
      Error(StatusCode::kPermissionDenied, "pods \"p\" is forbidden: User \"u\" cannot patch resource \"pods/resize\"");
  const Status no_such =
      Error(StatusCode::kUnimplemented, "resizing pod p: the cluster has no subresource pods/resize");
  for (const auto& [status, reason] :
       {std::pair(right, kReasonForbidden), std::pair(no_such, kReasonResizeNotSupported)}) {
    Fail("a", status);
    Fail("b", status);
    const auto news = failures_.TakeNews();
    ASSERT_THAT(news, SizeIs(1));
    EXPECT_EQ(news[0].reason, reason);
    EXPECT_THAT(failures_.Blocked(), SizeIs(2)) << "each is tried again by itself";
    failures_.Keep({});
  }
  Fail("a");
  Fail("b");
  EXPECT_THAT(failures_.TakeNews(), SizeIs(2)) << "a quota refuses each object for itself";
}

TEST_F(ActFailuresTest, WhatOftenPassesByItselfIsReportedWhenItLasts) {
  for (uint32_t i = 1; i < ActFailures::kLasting; ++i) Fail("a", kConflict);
  EXPECT_THAT(failures_.TakeNews(), IsEmpty());
  Fail("a", kConflict);
  EXPECT_THAT(failures_.TakeNews(), SizeIs(1));
}

TEST_F(ActFailuresTest, WhatIsNotWantedAnyMoreIsForgotten) {
  Fail("a");
  Fail("b");
  failures_.Keep({"CreatePod b"});
  EXPECT_TRUE(MayTry("a"));
  EXPECT_FALSE(MayTry("b"));
  EXPECT_THAT(failures_.Blocked(), SizeIs(1));
}

}  // namespace
}  // namespace attune::controller::act_failures_test
