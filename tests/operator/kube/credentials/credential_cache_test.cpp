#include "operator/kube/credentials/credential_cache.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace attune::kube::credential_cache_test {
namespace {

using Step = CredentialCache::Step;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class CredentialCacheTest : public ::testing::Test {
 protected:
  Step Next() const { return cache_.Next(time_.WallNow(), time_.Now()); }
  bool IsUsable() const { return cache_.IsUsable(time_.WallNow()); }
  void Obtain(std::optional<Duration> lifetime) {
    ExecCredential credential{.token = "t"};
    if (lifetime) credential.expires = time_.WallNow() + *lifetime;
    cache_.OnObtained(credential, time_.WallNow(), time_.Now());
  }
  void Fail() { cache_.OnFailed(Error(StatusCode::kUnauthenticated, "no"), time_.Now()); }
  void Refuse() { cache_.OnRefused(cache_.number(), time_.Now()); }
  // The time that passes until Next says `step`, in whole milliseconds.
  Duration Until(Step step) {
    Duration passed{};
    while (Next() != step && passed < hours(2)) {
      time_.Advance(milliseconds(1));
      passed += milliseconds(1);
    }
    return passed;
  }
  ManualTime time_;
  CredentialCache cache_;
};

TEST_F(CredentialCacheTest, RunsFirstAndThenUsesWhatItGaveUntilShortlyBeforeItExpires) {
  EXPECT_EQ(Next(), Step::kRun);
  EXPECT_FALSE(IsUsable());
  Obtain(minutes(15));
  EXPECT_EQ(Next(), Step::kUse);
  EXPECT_EQ(Until(Step::kRun), minutes(15) - seconds(30));
  EXPECT_TRUE(IsUsable()) << "until it has expired, it may be used while the program runs";
  time_.Advance(seconds(30));
  EXPECT_FALSE(IsUsable());
}

TEST_F(CredentialCacheTest, MarginsFollowTheLifetime) {
  struct {
    const char* why;
    Duration lifetime, want;
  } cases[] = {
      {"an hour", hours(1), hours(1) - seconds(30)},
      {"shorter than the margin: a quarter is left", seconds(20), seconds(15)},
      {"expired on arrival, by clocks that differ: used for a moment", seconds(-60), seconds(5)},
      {"expires at once", seconds(0), seconds(5)},
  };
  for (const auto& c : cases) {
    cache_ = CredentialCache();
    Obtain(c.lifetime);
    EXPECT_EQ(Until(Step::kRun), c.want) << c.why;
  }
}

TEST_F(CredentialCacheTest, WithoutAnExpirationItIsUsedUntilItIsRefused) {
  Obtain(std::nullopt);
  time_.Advance(hours(24 * 365));
  EXPECT_EQ(Next(), Step::kUse);
  Refuse();
  EXPECT_EQ(Next(), Step::kRun);
  EXPECT_FALSE(IsUsable());
}

TEST_F(CredentialCacheTest, OneRefusalRunsItAtOnceMoreOfThemWithGrowingPauses) {
  Obtain(hours(1));
  Refuse();
  EXPECT_EQ(Next(), Step::kRun) << "a new one may help at once";
  for (const Duration want :
       {seconds(1), seconds(2), seconds(4), seconds(8), seconds(16), seconds(32), seconds(60), seconds(60)}) {
    Obtain(hours(1));
    EXPECT_EQ(Next(), Step::kUse);
    Refuse();
    EXPECT_EQ(Next(), Step::kFail);
    EXPECT_EQ(cache_.failure().code(), StatusCode::kUnauthenticated);
    EXPECT_EQ(Until(Step::kRun), want);
  }
}

TEST_F(CredentialCacheTest, AMinuteOfServiceClearsTheRecord) {
  Obtain(hours(1));
  for (int i = 0; i < 5; ++i) {
    Refuse();
    Until(Step::kRun);
    Obtain(hours(1));
  }
  time_.Advance(minutes(1));
  Refuse();
  EXPECT_EQ(Next(), Step::kRun) << "revoked after it had been good: asked again at once";
  Obtain(hours(1));
  Refuse();
  EXPECT_EQ(Until(Step::kRun), seconds(1));
}

TEST_F(CredentialCacheTest, RefusalsOfWhatHasBeenReplacedCountForNothing) {
  Obtain(hours(1));
  const uint64_t old = cache_.number();
  Refuse();
  Refuse();
  EXPECT_EQ(Next(), Step::kRun) << "two calls with one credential are one refusal";
  Obtain(hours(1));
  cache_.OnRefused(old, time_.Now());
  EXPECT_EQ(Next(), Step::kUse);
}

TEST_F(CredentialCacheTest, FailedRunsAreRepeatedWithGrowingPausesAndSayWhyMeanwhile) {
  for (const Duration want :
       {seconds(1), seconds(2), seconds(4), seconds(8), seconds(16), seconds(32), seconds(60), seconds(60)}) {
    Fail();
    EXPECT_EQ(Next(), Step::kFail);
    EXPECT_EQ(Message(cache_.failure()), "no");
    EXPECT_EQ(Until(Step::kRun), want);
  }
}

TEST_F(CredentialCacheTest, WhileRenewalFailsWhatIsHeldIsUsedToItsEnd) {
  Obtain(minutes(10));
  time_.Advance(minutes(10) - seconds(30));
  EXPECT_EQ(Next(), Step::kRun);
  Fail();
  EXPECT_EQ(Next(), Step::kUse);
  time_.Advance(seconds(1));
  EXPECT_EQ(Next(), Step::kRun);
  Fail();
  time_.Advance(seconds(29));
  EXPECT_EQ(Next(), Step::kRun);
  Fail();
  EXPECT_EQ(Next(), Step::kFail) << "expired now";
}

// Whatever programs and servers do: runs are apart from each other, and what is used was not refused.
TEST_F(CredentialCacheTest, PropertiesOverRandomHistories) {
  constexpr uint64_t kSeed = 20;
  for (uint64_t seed = kSeed; seed < kSeed + 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    cache_ = CredentialCache();
    int runs = 0;
    const MonotonicTime begin = time_.Now();
    uint64_t refused = 0;
    for (int i = 0; i < 400; ++i) {
      switch (Next()) {
        case Step::kUse:
          ASSERT_TRUE(IsUsable());
          ASSERT_NE(cache_.number(), refused);
          if (random.Uniform() < 0.3) {
            refused = cache_.number();
            Refuse();
          }
          break;
        case Step::kRun:
          ++runs;
          if (random.Uniform() < 0.5) {
            Fail();
          } else {
            Obtain(seconds(static_cast<int>(random.Uniform() * 100)));
          }
          break;
        case Step::kFail:
          ASSERT_FALSE(cache_.failure().ok());
          break;
      }
      time_.Advance(milliseconds(static_cast<int>(random.Uniform() * 500)));
    }
    // A run, one more for a first refusal, and then at most one a second.
    ASSERT_LE(runs, 2 + 2 * Seconds(time_.Now() - begin));
  }
}

}  // namespace
}  // namespace attune::kube::credential_cache_test
