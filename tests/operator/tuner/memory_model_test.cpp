#include "operator/tuner/models/memory_model.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace attune::tuner {
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

}  // namespace
}  // namespace attune::tuner
