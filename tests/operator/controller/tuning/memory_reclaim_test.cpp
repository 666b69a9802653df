// Memory that is not used is given back, and what that costs: stories of one job's servers, and random programs.
#include "operator/controller/tuning/memory_reclaim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "base/os/random_seed.h"

namespace attune::controller::memory_reclaim_test {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMebibyte = 1 << 20;
constexpr double kWindow = 5;

class MemoryReclaimTest : public ::testing::Test {
 protected:
  MemoryReclaimTest() {
    input_.policy.window_seconds = kWindow;
    input_.settled = input_.training = true;
    for (int32_t i = 0; i < 2; ++i) {
      input_.pod_memory.push_back({.pod = "a-server-" + std::to_string(i),
                                   .uid = "s" + std::to_string(i),
                                   .role = RoleName::kServer,
                                   .index = i,
                                   .used = 300 * kMebibyte,
                                   .limit = 1024 * kMebibyte,
                                   .max = 4096 * kMebibyte,
                                   .min = 256 * kMebibyte});
    }
  }

  void Look() {
    input_.time += kWindow;
    input_.steps += static_cast<uint64_t>(rate_ * kWindow);
    TuningOutput output;
    output.raise_memory = alarms_;
    reclaim_.Look(input_, may_act_, rate_, output);
    for (const auto& event : output.events) events_ += event.reason + ": " + event.note + "\n";
    for (const MemoryTarget& target : output.memory_targets) {
      ++asked_;
      EXPECT_EQ(target.role, RoleName::kServer);
      if (obeys_) Give(target.bytes);
    }
  }
  // The spec and all pods have this from now on.
  void Give(int64_t bytes) {
    for (PodMemory& pod : input_.pod_memory) pod.limit = bytes, pod.asked = bytes;
  }
  void Minutes(double minutes) {
    for (int i = 0; i < static_cast<int>(60 * minutes / kWindow); ++i) Look();
  }
  int64_t Limit() const { return input_.pod_memory[0].limit / kMebibyte; }
  void Use(int64_t mebibytes) {
    for (PodMemory& pod : input_.pod_memory) pod.used = mebibytes * kMebibyte;
  }

  TuningInput input_;
  MemoryReclaim reclaim_;
  std::vector<MemoryAlarm> alarms_;
  std::string events_;
  double rate_ = 100;
  bool may_act_ = true, obeys_ = true;
  int asked_ = 0;
};

TEST_F(MemoryReclaimTest, WhatIsNotUsedForTenMinutesIsGivenBackAndMeasured) {
  Minutes(9.5);
  EXPECT_EQ(asked_, 0);
  Minutes(2);
  EXPECT_EQ(Limit(), 464) << "half as much again as 300, in steps of 16";
  EXPECT_THAT(events_, HasSubstr("Lowering the limit of memory of servers from 1Gi to 464Mi: they used at most 300Mi"));
  EXPECT_THAT(events_, HasSubstr("FindingOutcome: Lowered the limit of memory of servers"));
  Minutes(60);
  EXPECT_EQ(asked_, 1) << "a limit that fits is left alone";
}

TEST_F(MemoryReclaimTest, WithoutALowerBoundNothingIsGivenBack) {
  for (PodMemory& pod : input_.pod_memory) pod.min.reset();
  Minutes(60);
  EXPECT_EQ(asked_, 0);
}

TEST_F(MemoryReclaimTest, NeverBelowTheBound) {
  for (PodMemory& pod : input_.pod_memory) pod.min = 700 * kMebibyte;
  Minutes(60);
  EXPECT_EQ(Limit(), 700);
}

TEST_F(MemoryReclaimTest, ALittleIsNotWorthIt) {
  Use(600);
  Minutes(60);
  EXPECT_EQ(asked_, 0) << "900 of 1024 would be left";
}

TEST_F(MemoryReclaimTest, TheFullestPodCounts) {
  input_.pod_memory[1].used = 500 * kMebibyte;
  Minutes(30);
  EXPECT_EQ(Limit(), 752) << "half as much again as 500";
}

TEST_F(MemoryReclaimTest, APodThatGrowsKeepsWhatItHas) {
  for (int i = 0; i < 720; ++i) {
    Use(100 + i / 4);
    Look();
  }
  EXPECT_EQ(asked_, 0);
}

TEST_F(MemoryReclaimTest, APeakIsRemembered) {
  for (int i = 0; i < 40; ++i) {
    Use(i % 10 == 0 ? 640 : 200);
    Minutes(1);
  }
  EXPECT_EQ(asked_, 0);
}

TEST_F(MemoryReclaimTest, WhatMakesTheJobSlowerIsTakenBackAndNotTriedAgain) {
  Minutes(10.2);
  ASSERT_EQ(Limit(), 464);
  rate_ = 80;
  Minutes(2);
  EXPECT_EQ(Limit(), 1024);
  EXPECT_THAT(events_, HasSubstr("slower with less memory (100 steps a second before, 80 after)"));
  Minutes(120);
  EXPECT_EQ(asked_, 2);
}

TEST_F(MemoryReclaimTest, AfterARaiseItIsNotLoweredBelowThatAgain) {
  Minutes(20);
  ASSERT_EQ(Limit(), 464);
  Give(704 * kMebibyte);  // memory ran out, or was about to
  Minutes(120);
  EXPECT_EQ(Limit(), 704);
  EXPECT_EQ(asked_, 1);
}

TEST_F(MemoryReclaimTest, WhatAUserHasChosenMeanwhileStays) {
  obeys_ = false;
  Minutes(10.2);
  ASSERT_EQ(asked_, 2) << "it is asked for until the spec has it";
  Give(2048 * kMebibyte);
  obeys_ = true;
  Minutes(5);
  EXPECT_EQ(Limit(), 2048);
}

TEST_F(MemoryReclaimTest, ASizeThatIsRefusedIsTakenBackFromTheSpec) {
  obeys_ = false;
  Minutes(10.1);
  for (PodMemory& pod : input_.pod_memory) pod.asked = 464 * kMebibyte;  // the spec has it, no pod ever does
  obeys_ = true;
  Minutes(11);
  EXPECT_EQ(Limit(), 1024);
  const int asked = asked_;
  Minutes(60);
  EXPECT_EQ(asked_, asked);
}

TEST_F(MemoryReclaimTest, NothingWhileMemoryRunsOutOrPodsCome) {
  alarms_.push_back({.memory = input_.pod_memory[0]});
  Minutes(30);
  EXPECT_EQ(asked_, 0);
  alarms_.clear();
  for (int i = 0; i < 12; ++i) {
    input_.settled = false;
    Look();
    input_.settled = true;
    Minutes(5);
  }
  EXPECT_EQ(asked_, 0);
}

TEST_F(MemoryReclaimTest, AnotherOperatorContinuesAndForgetsNoFloor) {
  Minutes(10.2);
  ASSERT_EQ(Limit(), 464);
  reclaim_ = MemoryReclaim::Load(reclaim_.Save());
  rate_ = 50;
  Minutes(2);
  EXPECT_EQ(Limit(), 1024) << "it was measuring";
  reclaim_ = MemoryReclaim::Load(reclaim_.Save());
  Minutes(120);
  EXPECT_EQ(Limit(), 1024);
  for (const char* damaged : {"", "{", "[1]", "[[9,0,0,0,0,0,0],[0,0,0,0,0,0,0]]", "[[\"a\",0,0,0,0,0,0],[0]]"}) {
    EXPECT_EQ(MemoryReclaim::Load(damaged).Save(), MemoryReclaim().Save()) << damaged;
  }
}

// Whatever a program does: no target outside the range, none below what was used, and an end of it.
TEST_F(MemoryReclaimTest, ItEndsWhateverTheProgramDoes) {
  const uint64_t first = RandomSeed();
  std::printf("seeds %llu .. +39\n", static_cast<unsigned long long>(first));
  for (uint64_t seed = first; seed < first + 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto draw = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
    };
    reclaim_ = {};
    asked_ = 0;
    Give(draw(512, 4096) * kMebibyte);
    const int64_t base = draw(10, 400), burst = draw(0, 1500);
    const int64_t every = draw(20, 2000), length = draw(1, 30);
    for (int64_t i = 0; i < 6000; ++i) {
      int64_t used = base + draw(0, 5) + (i % every < length ? burst : 0);
      if (used > Limit()) Give(std::min<int64_t>(4096, used * 3 / 2) * kMebibyte);  // raised after it ran out
      const int64_t before = Limit();
      Use(std::min(used, Limit()));
      Look();
      if (Limit() < before) {
        EXPECT_GE(Limit(), 256);
        EXPECT_GE(Limit(), used);
      }
      if (draw(0, 3000) == 0) reclaim_ = MemoryReclaim::Load(reclaim_.Save());
    }
    EXPECT_LE(asked_, 12) << "base " << base << ", bursts of " << burst << " every " << every;
  }
}

}  // namespace
}  // namespace attune::controller::memory_reclaim_test
