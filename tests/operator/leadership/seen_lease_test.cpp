// From when on a candidate may take over a Lease, by what it has seen of it and for how long.
#include "operator/leadership/election/seen_lease.h"

#include <gtest/gtest.h>

namespace attune::leadership::seen_lease_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr SeenLease::Waits kWaits{.lease = seconds(15), .absent_for = seconds(3)};
constexpr MonotonicTime kStart{seconds(100)};

LeaseRecord HeldBy(const std::string& holder, const std::string& version, Duration duration = seconds(15)) {
  return {.holder = holder, .duration = duration, .transitions = 4, .uid = "u", .version = version};
}

MonotonicTime MayBeTakenAt(const SeenLease& seen) { return seen.MayBeTakenAt("me", kWaits); }

TEST(SeenLeaseTest, AHolderIsWaitedForFromItsLastChange) {
  SeenLease seen;
  seen.Set(HeldBy("other", "1"), kStart);
  EXPECT_EQ(MayBeTakenAt(seen), kStart + seconds(15));
  seen.Set(HeldBy("other", "1"), kStart + seconds(5));  // nothing has changed
  EXPECT_EQ(MayBeTakenAt(seen), kStart + seconds(15));
  seen.Set(HeldBy("other", "2"), kStart + seconds(10));
  EXPECT_EQ(MayBeTakenAt(seen), kStart + seconds(25));
}

TEST(SeenLeaseTest, ANamedDurationIsBelievedWithinABound) {
  struct Case {
    std::string name;
    Duration named, want;
  };
  const Case cases[] = {{"a shorter one counts as the candidate's own", seconds(1), seconds(15)},
                        {"a longer one is waited for", minutes(2), minutes(2)},
                        {"one without end is not", std::chrono::hours(1000), minutes(10)}};
  for (const Case& given : cases) {
    SCOPED_TRACE(given.name);
    SeenLease seen;
    seen.Set(HeldBy("other", "1", given.named), kStart);
    EXPECT_EQ(MayBeTakenAt(seen), kStart + given.want);
  }
}

TEST(SeenLeaseTest, OnlyTheHoldersOwnReleaseIsTakenAtOnce) {
  SeenLease seen;
  LeaseRecord emptied = HeldBy("", "1");
  seen.Set(emptied, kStart);
  EXPECT_EQ(MayBeTakenAt(seen), kStart + seconds(15)) << "emptied by another hand";
  emptied.released = true, emptied.version = "2";
  seen.Set(emptied, kStart);
  EXPECT_LT(MayBeTakenAt(seen), kStart);
}

TEST(SeenLeaseTest, ItsOwnLeaseIsTakenAtOnce) {
  SeenLease seen;
  seen.Set(HeldBy("me", "1"), kStart);
  EXPECT_LT(MayBeTakenAt(seen), kStart);
  EXPECT_TRUE(seen.IsHeldBy("me"));
  EXPECT_FALSE(seen.IsHeldByOtherThan("me"));
}

TEST(SeenLeaseTest, AbsenceIsWaitedForFromWhenItWasFirstSeen) {
  SeenLease seen;
  seen.Set(std::nullopt, kStart);
  seen.Set(std::nullopt, kStart + seconds(1));
  EXPECT_EQ(MayBeTakenAt(seen), kStart + seconds(3));
  EXPECT_FALSE(seen.IsHeldByOtherThan("me"));
}

TEST(SeenLeaseTest, TheCountOfHoldersOutlivesTheLease) {
  SeenLease seen;
  EXPECT_EQ(seen.transitions(), 0);
  seen.Set(HeldBy("other", "1"), kStart);
  seen.Set(std::nullopt, kStart);
  EXPECT_EQ(seen.transitions(), 4);
}

TEST(SeenLeaseTest, AnObjectOfTheSameNameIsAnotherWrite) {
  SeenLease seen;
  EXPECT_FALSE(seen.IsSameWrite(HeldBy("other", "1")));
  seen.Set(HeldBy("other", "1"), kStart);
  EXPECT_TRUE(seen.IsSameWrite(HeldBy("other", "1")));
  LeaseRecord made_again = HeldBy("other", "1");
  made_again.uid = "v";
  EXPECT_FALSE(seen.IsSameWrite(made_again));
}

}  // namespace
}  // namespace attune::leadership::seen_lease_test
