// What random jobs are made of: each part by itself, over many draws.
#include <gtest/gtest.h>

#include <functional>

#include "operator/tuner/models/random/core_use.h"
#include "operator/tuner/models/random/fixed_times.h"
#include "operator/tuner/models/random/server_service.h"
#include "operator/tuner/models/random/stragglers.h"
#include "operator/tuner/models/random/unknown_knobs.h"
#include "operator/tuner/models/random/worker_cycle.h"

namespace attune::tuner::job_parts_test {
namespace {

void ForManyJobs(const std::function<void(Random&)>& check) {
  Random random(7);
  for (int draw = 0; draw < 200; ++draw) check(random);
}

TEST(CoreUseTest, FewerCoresAreNeverFaster) {
  ForManyJobs([](Random& random) {
    const CoreUse use(random, 4000);
    EXPECT_GE(use.own_threads(), 1);
    EXPECT_GE(use.Compute(0.9, 4, 0.5), use.Compute(0.9, 4, 1));
    EXPECT_GE(use.Compute(0.9, 4, 1), use.Compute(0.9, 4, 4));
    EXPECT_GE(use.Message(0.5), use.Message(1));
    EXPECT_DOUBLE_EQ(use.Message(1), use.Message(4)) << "one core is enough for messages";
  });
}

TEST(WorkerCycleTest, MoreThreadsComputeFasterUntilTheCoresEnd) {
  ForManyJobs([](Random& random) {
    const WorkerCycle cycle(random, 4);
    EXPECT_DOUBLE_EQ(cycle.EffectiveThreads(1), 1);
    EXPECT_LE(cycle.EffectiveThreads(64), 10) << "at most 2.5 times as many as a job may have";
    EXPECT_GT(cycle.Compute(1, 1e9), cycle.Compute(2, 1e9));
    EXPECT_DOUBLE_EQ(cycle.Messages(0.1), cycle.Messages(8)) << "cores are no knob";
    EXPECT_DOUBLE_EQ(cycle.FanOut(4), 4 * cycle.FanOut(1));
  });
}

TEST(WorkerCycleTest, AProgramWithThreadsOfItsOwnIsOfferedNone) {
  ForManyJobs([](Random& random) {
    WorkerCycle cycle(random, 1);
    const CoreUse use(random, 4000);
    cycle.SetCoreUse(use, /*own_threads=*/true);
    EXPECT_DOUBLE_EQ(cycle.EffectiveThreads(1), use.own_threads());
    EXPECT_GE(cycle.Compute(use.own_threads(), 0.5), cycle.Compute(use.own_threads(), 4));
  });
}

TEST(ServerServiceTest, MoreServersServeFasterAndACrowdedMachineSlower) {
  ForManyJobs([](Random& random) {
    ServerService service(random);
    EXPECT_DOUBLE_EQ(service.Seconds(1, 1, 1), 2 * service.Seconds(2, 1, 1));
    EXPECT_DOUBLE_EQ(service.Seconds(1, 1, 3), 3 * service.Seconds(1, 1, 1));
    service.SetCoreUse(CoreUse(random, 4000));
    EXPECT_GE(service.Seconds(1, 0.5, 1), service.Seconds(1, 2, 1));
  });
}

TEST(OverloadTest, TooManyWorkersForEachServerSlowIt) {
  ForManyJobs([](Random& random) {
    const Overload overload(random, 8);
    EXPECT_GE(overload.Factor(1, 8), 1);
    EXPECT_GE(overload.Factor(1, 8), overload.Factor(2, 8));
  });
}

TEST(StragglersTest, DelaysAreWaitedForTheLessTheFurtherTheOthersMayRun) {
  ForManyJobs([](Random& random) {
    const ChanceDelays delays(random);
    EXPECT_DOUBLE_EQ(delays.Cycle(2, 8, kSlackAsync), 2);
    EXPECT_GE(delays.Cycle(2, 8, 0), delays.Cycle(2, 8, 4));
    EXPECT_GE(delays.Cycle(2, 8, 4), 2);
  });
}

TEST(StragglersTest, ABoundedLeadBringsAllToThePaceOfTheSlow) {
  ForManyJobs([](Random& random) {
    const SlowWorkers slow(random, 8);
    EXPECT_DOUBLE_EQ(slow.PaceOf(2, 1, 0).cycle, 2) << "the first one is never slow";
    const auto bounded = slow.PaceOf(2, 8, 0), free = slow.PaceOf(2, 8, kSlackAsync);
    EXPECT_DOUBLE_EQ(bounded.workers, 8);
    EXPECT_DOUBLE_EQ(free.cycle, 2);
    EXPECT_LE(free.workers, 8);
    EXPECT_LE(bounded.workers / bounded.cycle, free.workers / free.cycle) << "waiting makes no job faster";
  });
}

TEST(FixedTimesTest, TimeThatOverlapsWithNothingIsAdded) {
  ForManyJobs([](Random& random) {
    const FixedTimes fixed(random, 8);
    EXPECT_GE(fixed.link(), 0);
    EXPECT_GT(fixed.AddTo(3, 1, 1), 3);
    EXPECT_GE(fixed.AddTo(3, 4, 8), fixed.AddTo(3, 1, 8));
  });
}

TEST(UnknownKnobsTest, OnlyKnobsThatAreNotModeledCount) {
  const auto known = SearchSpace::Create({.knobs = {{"servers", 1, 4}, {"worker_memory_mib", 64, 4096}}});
  const auto unknown =
      SearchSpace::Create({.knobs = {{.name = "batch", .low = 1, .high = 64, .cost = CostClass::kLive}}});
  ASSERT_TRUE(known.ok() && unknown.ok());
  ForManyJobs([&](Random& random) {
    EXPECT_DOUBLE_EQ(UnknownKnobs(*known, random).AddTo(-2, *known, known->size() - 1), -2);
    const UnknownKnobs knobs(*unknown, random);
    EXPECT_NE(knobs.AddTo(-2, *unknown, 0), knobs.AddTo(-2, *unknown, unknown->size() - 1));
    EXPECT_GE(knobs.AddTo(-2, *unknown, 0), -2) << "the optimum is the best";
  });
}

}  // namespace
}  // namespace attune::tuner::job_parts_test
