// Some hundreds of seeds of the rows' simulation, and proof that its checkers see deliberate mistakes. One seed with
// its history: ATTUNE_SEED=n rows_simulation_test --gtest_filter=RowSimulation.*
#include "tests/simulation/rows/rows_simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace attune::ps::simulation {
namespace {

constexpr uint64_t kSeeds = 600;

TEST(RowSimulation, PromisesHold) {
  const char* chosen = std::getenv("ATTUNE_SEED");
  const uint64_t first = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : 1;
  const uint64_t last = chosen != nullptr ? first : kSeeds;
  RowResult all;
  for (uint64_t seed = first; seed <= last; ++seed) {
    const RowParameters parameters = RowParameters::FromSeed(seed);
    if (chosen != nullptr) std::cout << ToString(parameters) << std::endl;
    const RowResult result = SimulateRows(parameters, {}, chosen != nullptr);
    for (const std::string& violation : result.violations) ADD_FAILURE() << violation;
    ASSERT_TRUE(result.violations.empty())
        << ToString(parameters) << "\n  replay with its history: ATTUNE_SEED=" << seed << " rows_simulation_test";
    all.handovers += result.handovers;
    all.waited += result.waited;
    all.parked += result.parked;
    all.replicated += result.replicated;
    all.recoveries += result.recoveries;
    all.home_moves += result.home_moves;
    all.joins += result.joins;
    all.drains += result.drains;
    all.resent += result.resent;
  }
  if (chosen != nullptr) return;
  // A run in which nothing happened proves nothing.
  EXPECT_GT(all.handovers, kSeeds);
  EXPECT_GT(all.waited, kSeeds / 4);
  EXPECT_GT(all.parked, kSeeds / 20);
  EXPECT_GT(all.replicated, kSeeds);
  EXPECT_GT(all.recoveries, kSeeds / 4);
  EXPECT_GT(all.home_moves, kSeeds / 20);
  EXPECT_GT(all.joins, kSeeds / 20);
  EXPECT_GT(all.drains, 0U);
  EXPECT_GT(all.resent, 0U);
}

TEST(RowSimulation, TheSameSeedGivesTheSameRun) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const RowParameters parameters = RowParameters::FromSeed(seed);
    EXPECT_EQ(SimulateRows(parameters).digest, SimulateRows(parameters).digest) << ToString(parameters);
  }
}

// The mistakes that few seeds show; attune-simulate --mutants hunts all of them.
class RowMistake : public testing::TestWithParam<int> {};

TEST_P(RowMistake, IsCaught) {
  const auto mutation = static_cast<RowMutation>(GetParam());
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    if (!SimulateRows(RowParameters::FromSeed(seed), {.row = mutation}).violations.empty()) return;
  }
  FAIL() << NameOf(mutation) << " was not caught by seeds 1 to 2000";
}

INSTANTIATE_TEST_SUITE_P(RowSimulation, RowMistake,
                         testing::Values(1, 3, 4, 7, 8, 10, 11, 13, 14, 15, 17, 18, 19, 22, 23, 24, 25, 26, 27, 28, 31,
                                         32, 33, 35, 36, 42, 43, 44, 45, 46),
                         [](const testing::TestParamInfo<int>& info) { return "Number" + std::to_string(info.param); });

}  // namespace
}  // namespace attune::ps::simulation
