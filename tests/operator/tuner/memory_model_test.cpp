#include "operator/tuner/models/memory_model.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace attune::tuner::memory_model_test {
namespace {

SearchSpace Space() {
  return *SearchSpace::Create({.knobs = {{"servers", 1, 8}, {"workers", 1, 16}, {"threads", 1, 4}}});
}

TEST(MemoryModelTest, TelemetryTellsWhichSettingsWouldNotFit) {
  const SearchSpace space = Space();
  MemoryModel memory(space);
  Random random(2);
  for (const Setting& s : {Setting{4, 4, 2}, Setting{6, 8, 2}, Setting{8, 4, 1}}) {
    const int id = *space.Find(s);
    memory.Absorb(space, id, 0.1 + 2.4 / s[0] + 0.01 * s[1] + 0.01 * random.Normal(), 0.3, 1);
    memory.Ran(space, id);
  }
  EXPECT_GT(memory.CrashProbability(space, *space.Find({1, 4, 2})), 0.9);
  EXPECT_GT(memory.CrashProbability(space, *space.Find({2, 8, 2})), 0.8);
  EXPECT_LT(memory.CrashProbability(space, *space.Find({6, 6, 2})), 0.02);
  EXPECT_NEAR(memory.ServerUse(space, *space.Find({6, 8, 2})), 0.58, 0.05);
}

TEST(MemoryModelTest, ACrashBansWhatAsksForMoreOfEveryNode) {
  const SearchSpace space = Space();
  MemoryModel memory(space);
  memory.Crashed(space, *space.Find({2, 8, 2}));
  EXPECT_TRUE(memory.Banned(space, *space.Find({2, 8, 2})));
  EXPECT_TRUE(memory.Banned(space, *space.Find({1, 16, 4})));
  EXPECT_FALSE(memory.Banned(space, *space.Find({3, 8, 2})));
  EXPECT_FALSE(memory.Banned(space, *space.Find({1, 7, 2})));
  EXPECT_FALSE(memory.Banned(space, *space.Find({1, 8, 1})));
}

// Measured at one setting alone, a line knows neither its slope nor its level.
TEST(MemoryModelTest, ACrashTellsThatNeighborsOfTheSettingAreTooSmallAsWell) {
  const SearchSpace space = Space();
  MemoryModel memory(space);
  const int here = *space.Find({4, 4, 2}), fewer = *space.Find({2, 4, 2}), neighbor = *space.Find({2, 3, 2});
  memory.Absorb(space, here, 0.5, 0.3, 1);
  memory.Ran(space, here);
  const double before = memory.CrashProbability(space, neighbor);
  memory.Crashed(space, fewer);
  EXPECT_FALSE(memory.Banned(space, neighbor)) << "it asks for less";
  EXPECT_GT(memory.CrashProbability(space, neighbor), std::max(0.5, 2 * before));
  EXPECT_LT(memory.CrashProbability(space, here), 0.02) << "where it ran";
  EXPECT_NEAR(memory.WorkerUse(space, fewer), 0.3, 0.1) << "the servers were fuller";
}

TEST(MemoryModelTest, WithoutTelemetryTheUnknownIsALittleRisky) {
  const SearchSpace space = Space();
  MemoryModel memory(space, /*use_telemetry=*/false);
  memory.Ran(space, *space.Find({4, 4, 2}));
  EXPECT_DOUBLE_EQ(memory.CrashProbability(space, *space.Find({8, 4, 2})), 0);
  const double near = memory.CrashProbability(space, *space.Find({4, 8, 2}));
  const double far = memory.CrashProbability(space, *space.Find({1, 16, 4}));
  EXPECT_GT(near, 0.01);
  EXPECT_GT(far, 2 * near);
}

// A first look at fewer servers, before any window had said how full they were, ended a job.
TEST(MemoryModelTest, BeforeAnyReadingNoPodIsAskedToHoldMore) {
  const SearchSpace space = Space();
  const MemoryModel memory(space);
  const int here = *space.Find({4, 4, 2});
  const struct {
    const char* what;
    Setting setting;
    bool beyond;
  } cases[] = {{"where it runs", {4, 4, 2}, false},
               {"more rows for each server", {3, 3, 2}, true},
               {"more workers for each server", {4, 5, 2}, true},
               {"more threads of a worker", {4, 4, 3}, true},
               {"more of everything", {8, 8, 2}, false},
               {"fewer workers and threads", {4, 1, 1}, false}};
  for (const auto& [what, setting, beyond] : cases)
    EXPECT_EQ(memory.BeyondEvidence(space, *space.Find(setting), here), beyond) << what;
}

TEST(MemoryModelTest, AReadingOfOneSideFreesThatSide) {
  const SearchSpace space = Space();
  MemoryModel memory(space);
  const int here = *space.Find({4, 4, 2}), servers = *space.Find({2, 4, 2}), threads = *space.Find({4, 4, 4});
  memory.Absorb(space, here, 0.3, -1, 1);
  memory.Ran(space, here);
  EXPECT_FALSE(memory.BeyondEvidence(space, servers, here));
  EXPECT_TRUE(memory.BeyondEvidence(space, threads, here));
  memory.Absorb(space, here, -1, 0.3, 1);
  EXPECT_FALSE(memory.BeyondEvidence(space, threads, here));
}

TEST(MemoryModelTest, WhatRanElsewhereIsNotMoreThanWasHeld) {
  const SearchSpace space = Space();
  MemoryModel memory(space);
  const int here = *space.Find({4, 4, 2}), fewer = *space.Find({2, 2, 2});
  ASSERT_TRUE(memory.BeyondEvidence(space, fewer, here));
  memory.Ran(space, fewer);
  EXPECT_FALSE(memory.BeyondEvidence(space, fewer, here));
  EXPECT_TRUE(memory.BeyondEvidence(space, *space.Find({1, 1, 2}), here));
}

TEST(MemoryModelTest, WhereNoReadingEverComesTheRiskIsThatOfTheUnknown) {
  const SearchSpace space = Space();
  MemoryModel memory(space);
  const int here = *space.Find({4, 4, 2}), fewer = *space.Find({2, 4, 2});
  for (int window = 0; window < 3; ++window) {
    EXPECT_TRUE(memory.BeyondEvidence(space, fewer, here)) << window;
    memory.Absorb(space, here, -1, -1, 1);
    memory.Ran(space, here);
  }
  EXPECT_FALSE(memory.BeyondEvidence(space, fewer, here));
  EXPECT_GT(memory.CrashProbability(space, fewer), 0.02);
}

}  // namespace
}  // namespace attune::tuner::memory_model_test
