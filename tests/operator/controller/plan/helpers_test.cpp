// The small pure helpers: text, time stamps, expectations, restart delays.
#include <gtest/gtest.h>

#include "operator/controller/execute/expectations.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/failure.h"

namespace attune::controller::helpers_test {
namespace {

using std::chrono::seconds;

TEST(TextTest, FitsWithoutSplittingCharacters) {
  EXPECT_EQ(FitText("short", 10), "short");
  EXPECT_EQ(FitText("exactly ten", 11), "exactly ten");
  EXPECT_EQ(FitText("0123456789", 8), "01234...");
  EXPECT_EQ(FitText("\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4", 7), "\xC3\xA4\xC3\xA4...");
}

TEST(TextTest, WhatIsNoUtf8OrAControlCharacterIsReplaced) {
  EXPECT_EQ(FitText("a\xFF\x1B[0m\xC3", 20), "a??[0m?");
  EXPECT_EQ(FitText("\xED\xA0\x80", 20), "???") << "a surrogate";
  EXPECT_EQ(FitText("\xC0\x80", 20), "??") << "an overlong form";
}

TEST(TextTest, LastLinesKeepsTheEnd) {
  EXPECT_EQ(LastLines("a\nb\nc\n", 2, 100), "b\nc");
  EXPECT_EQ(LastLines("a\nb", 5, 100), "a\nb");
  EXPECT_EQ(LastLines("", 5, 100), "");
  EXPECT_EQ(LastLines("long first line\nend\n", 5, 8), "end") << "no half line at the front";
}

TEST(TextTest, CountsInSingularAndPlural) {
  EXPECT_EQ(Counted(0, "server"), "0 servers");
  EXPECT_EQ(Counted(1, "server"), "1 server");
  EXPECT_EQ(Counted(2, "worker pod"), "2 worker pods");
}

TEST(TextTest, CountsHowOften) {
  EXPECT_EQ(Times(1), "once");
  EXPECT_EQ(Times(2), "twice");
  EXPECT_EQ(Times(3), "3 times");
}

TEST(TimestampTest, WritesAndReadsBack) {
  const WallTime time = WallTime{} + seconds(1'700'000'000);
  EXPECT_EQ(ToRfc3339(time), "2023-11-14T22:13:20Z");
  EXPECT_EQ(ParseRfc3339("2023-11-14T22:13:20Z"), time);
  EXPECT_EQ(ParseRfc3339("2023-11-14T22:13:20.123456Z"), time);
  for (const char* bad :
       {"", "Z", "2023-11-14", "2023-13-14T22:13:20Z", "2023-11-14T25:13:20Z", "yesterday at noon  Z"}) {
    EXPECT_FALSE(ParseRfc3339(bad).has_value()) << bad;
  }
}

TEST(RestartDelayTest, DoublesUpToItsBound) {
  const PlanOptions options;
  EXPECT_EQ(RestartDelay(options, 1), seconds(1));
  EXPECT_EQ(RestartDelay(options, 4), seconds(8));
  EXPECT_EQ(RestartDelay(options, 1'000'000), options.restart_backoff_max);
}

kube::Json Pod(const char* uid, const char* version, bool going = false) {
  kube::Json pod = {{"metadata", {{"name", "p"}, {"namespace", "n"}, {"uid", uid}, {"resourceVersion", version}}}};
  if (going) pod["metadata"]["deletionTimestamp"] = "2023-11-14T22:13:20Z";
  return pod;
}

Expectations::Lookup Shows(const kube::Json* object, uint64_t newest = 0) {
  return [object, newest](const auto&, const auto&) { return Expectations::Seen{object, newest}; };
}

TEST(ExpectationsTest, AWriteIsMetWhenTheCacheShowsItOrSomethingNewer) {
  const MonotonicTime now{seconds(100)};
  const auto met = [&](const kube::Json* cached, uint64_t newest) {
    Expectations expectations;
    expectations.ExpectWritten(kube::kPods, Pod("u", "10"), now);
    return expectations.AreMet(Shows(cached, newest), now);
  };
  const kube::Json older = Pod("u", "9"), same = Pod("u", "10"), newer = Pod("v", "100");
  EXPECT_FALSE(met(nullptr, 0));
  EXPECT_FALSE(met(&older, 9));
  EXPECT_TRUE(met(&same, 10));
  EXPECT_TRUE(met(&newer, 100)) << "a successor";
  EXPECT_FALSE(met(nullptr, 9)) << "the cache has not come so far";
  EXPECT_TRUE(met(nullptr, 10)) << "it has come and gone between two looks";
}

TEST(ExpectationsTest, ADeletionIsMetWhenTheObjectIsGoneGoingOrReplaced) {
  const MonotonicTime now{seconds(100)};
  const auto met = [&](const kube::Json* cached) {
    Expectations expectations;
    expectations.ExpectDeleted(kube::kPods, {"n", "p"}, "u", now);
    return expectations.AreMet(Shows(cached, 1000), now);
  };
  const kube::Json there = Pod("u", "9"), going = Pod("u", "11", true), successor = Pod("v", "12");
  EXPECT_TRUE(met(nullptr));
  EXPECT_FALSE(met(&there));
  EXPECT_TRUE(met(&going));
  EXPECT_TRUE(met(&successor));
}

TEST(ExpectationsTest, NoRoundWaitsLongerThanTheBoundAndWhatWasCreatedIsRememberedBeyondIt) {
  const MonotonicTime now{seconds(100)};
  Expectations expectations;
  const kube::ObjectKey key{"n", "p"};
  expectations.ExpectWritten(kube::kPods, Pod("u", "10"), now);
  EXPECT_FALSE(expectations.AreMet(Shows(nullptr), now + Expectations::kWaitMax - seconds(1)));
  EXPECT_TRUE(expectations.AreMet(Shows(nullptr), now + Expectations::kWaitMax));
  EXPECT_TRUE(expectations.IsAwaited(kube::kPods, key)) << "a busy API server is not asked for it again";
  EXPECT_FALSE(expectations.IsAwaited(kube::kServices, key));
  EXPECT_TRUE(expectations.AreMet(Shows(nullptr), now + Expectations::kRememberedMax));
  EXPECT_FALSE(expectations.IsAwaited(kube::kPods, key)) << "its deletion may have been missed";
}

TEST(ExpectationsTest, WhatHasComeAndGoneMayBeCreatedAgainAtOnce) {
  const MonotonicTime now{seconds(100)};
  Expectations expectations;
  expectations.ExpectWritten(kube::kPods, Pod("u", "10"), now);
  EXPECT_TRUE(expectations.AreMet(Shows(nullptr, 12), now));
  EXPECT_FALSE(expectations.IsAwaited(kube::kPods, {"n", "p"}));
}

}  // namespace
}  // namespace attune::controller::helpers_test
