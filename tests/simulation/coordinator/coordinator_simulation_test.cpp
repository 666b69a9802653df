// The coordinator under changes and failures. A failure prints its seed; ATTUNE_SEED=<seed> runs that one alone, with a
// trace.
#include "tests/simulation/coordinator/coordinator_simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <optional>

namespace attune::ps::coordinator_simulation {
namespace {

constexpr uint64_t kSeeds = 300;
constexpr uint64_t kSeedsOfMistakes = 2000;

std::optional<uint64_t> ChosenSeed() {
  const char* text = std::getenv("ATTUNE_SEED");
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

std::string Explain(const Parameters& parameters, const Result& result) {
  std::string text = "replay with ATTUNE_SEED=" + std::to_string(parameters.seed) + "\n" + ToString(parameters);
  for (const std::string& violation : result.violations) text += "\n  " + violation;
  return text;
}

TEST(CoordinatorSimulation, HoldsItsPromisesUnderEverySeed) {
  if (const auto seed = ChosenSeed()) {
    const Parameters parameters = Parameters::FromSeed(*seed);
    std::cout << ToString(parameters) << std::endl;
    const Result result = Simulate(parameters, {}, /*trace=*/true);
    EXPECT_TRUE(result.violations.empty()) << Explain(parameters, result);
    return;
  }
  std::cout << "seeds 1 to " << kSeeds << std::endl;
  Result all;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Parameters parameters = Parameters::FromSeed(seed);
    const Result result = Simulate(parameters);
    ASSERT_TRUE(result.violations.empty()) << Explain(parameters, result);
    all.steps += result.steps;
    all.switches += result.switches;
    all.maps += result.maps;
    all.breaks += result.breaks;
    all.reprocessed += result.reprocessed;
    all.recoveries += result.recoveries;
    all.promotions += result.promotions;
    all.cuts += result.cuts;
    all.takeovers += result.takeovers;
  }
  std::cout << all.steps << " steps, " << all.switches << " switches, " << all.maps << " maps, " << all.breaks
            << " breaks, " << all.recoveries << " recoveries, " << all.promotions << " copies completed, "
            << all.reprocessed << " items reprocessed, " << all.cuts << " checkpoints, " << all.takeovers
            << " takeovers" << std::endl;
  // What is meant to happen did happen.
  EXPECT_GT(all.steps, 1000U);
  EXPECT_GT(all.switches, 100U);
  EXPECT_GT(all.breaks, 100U);
  EXPECT_GT(all.recoveries, 50U);
  EXPECT_GT(all.promotions, 50U);
  EXPECT_GT(all.reprocessed, 10U);
  EXPECT_GT(all.cuts, 100U);
}

TEST(CoordinatorSimulation, TheSameSeedGivesTheSameRun) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Parameters parameters = Parameters::FromSeed(seed);
    EXPECT_EQ(Simulate(parameters).digest, Simulate(parameters).digest) << ToString(parameters);
  }
}

struct Mistake {
  const char* name;
  bool Mutations::*flag;
};

class DeliberateCoordinatorMistake : public testing::TestWithParam<Mistake> {};

// A checker that misses a deliberate mistake would miss a real one.
TEST_P(DeliberateCoordinatorMistake, IsCaught) {
  Mutations mutations;
  mutations.*GetParam().flag = true;
  for (uint64_t seed = 1; seed <= kSeedsOfMistakes; ++seed) {
    const Result result = Simulate(Parameters::FromSeed(seed), mutations);
    if (!result.violations.empty()) {
      std::cout << GetParam().name << ": caught by seed " << seed << ", " << result.violations.front() << std::endl;
      return;
    }
  }
  FAIL() << GetParam().name << " was not caught by seeds 1 to " << kSeedsOfMistakes;
}

INSTANTIATE_TEST_SUITE_P(CoordinatorSimulation, DeliberateCoordinatorMistake,
                         testing::Values(Mistake{"ClockBeforeAcknowledged", &Mutations::clock_before_acknowledged},
                                         Mistake{"NoStepGate", &Mutations::no_step_gate},
                                         Mistake{"FloorCountsLostWorkers", &Mutations::floor_counts_lost_workers},
                                         Mistake{"FloorCountsIdleWorkers", &Mutations::floor_counts_idle_workers},
                                         Mistake{"SwitchWithoutPromises", &Mutations::switch_without_promises},
                                         Mistake{"MarkBeforeAllStand", &Mutations::mark_before_all_stand},
                                         Mistake{"ReleaseBeforeAllMarks", &Mutations::release_before_all_marks},
                                         Mistake{"DoneBeforeAcknowledged", &Mutations::done_before_acknowledged},
                                         Mistake{"KeepLeasesOfLostWorkers", &Mutations::keep_leases_of_lost_workers}),
                         [](const testing::TestParamInfo<Mistake>& mistake) { return mistake.param.name; });

}  // namespace
}  // namespace attune::ps::coordinator_simulation
