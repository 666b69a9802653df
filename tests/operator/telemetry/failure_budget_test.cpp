#include "operator/telemetry/failure_budget.h"

#include <gtest/gtest.h>

#include "operator/telemetry/expiring_cache.h"
#include "operator/telemetry/message_allowance.h"

namespace attune::telemetry::failure_budget_test {
namespace {

using std::chrono::seconds;

TEST(FailureBudgetTest, ASourceThatFailsHasToWaitAndOthersDoNot) {
  FailureBudget budget;
  MonotonicTime now{};
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(budget.MayTry("a", now)) << i;
    budget.Failed("a", now);
  }
  EXPECT_FALSE(budget.MayTry("a", now));
  EXPECT_TRUE(budget.MayTry("b", now));
  now += seconds(2);
  EXPECT_TRUE(budget.MayTry("a", now));
  budget.Failed("a", now);
  EXPECT_FALSE(budget.MayTry("a", now));
}

TEST(FailureBudgetTest, RemembersABoundedNumberOfSources) {
  FailureBudget budget;
  for (int i = 0; i < 20'000; ++i) budget.Failed(std::to_string(i), MonotonicTime{});
  EXPECT_EQ(budget.sources(), FailureBudget::kSourcesMax);
}

TEST(ExpiringCacheTest, ValuesEndAndTheOldestGivesWay) {
  ExpiringCache<int> cache(seconds(10), 2);
  MonotonicTime now{};
  cache.Add("a", 1, now);
  now += seconds(5);
  cache.Add("a", 7, now);
  cache.Add("b", 2, now);
  EXPECT_EQ(*cache.Find("a", now), 1) << "kept, with its time";
  now += seconds(5);
  EXPECT_EQ(cache.Find("a", now), nullptr);
  EXPECT_EQ(*cache.Find("b", now), 2);
  cache.Add("c", 3, now);
  cache.Add("d", 4, now);
  EXPECT_EQ(cache.Find("b", now), nullptr);
  EXPECT_EQ(cache.size(), 2U);
}

TEST(MessageAllowanceTest, AStreamThatSendsWithoutPauseIsReadFromAtABoundedRate) {
  MonotonicTime now{};
  MessageAllowance allowance(now);
  int read = 0;
  for (; !allowance.IsUsedUp(now); ++read) allowance.Take(now);
  EXPECT_EQ(read, 600);
  for (int second = 0; second < 100; ++second) {
    now += seconds(1);
    for (; !allowance.IsUsedUp(now); ++read) allowance.Take(now);
  }
  EXPECT_NEAR(read, 600 + 100 * 20, 1);
}

}  // namespace
}  // namespace attune::telemetry::failure_budget_test
