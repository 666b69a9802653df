// The protocol under a hostile network. A failure prints its seed; ATTUNE_SEED=<seed> runs that one alone, with a
// trace.
#include "tests/simulation/simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <optional>

namespace attune::ps::simulation {
namespace {

constexpr uint64_t kSeeds = 300;

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

TEST(Simulation, HoldsItsPromisesUnderEverySeed) {
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
    all.messages += result.messages;
    all.duplicate_pushes += result.duplicate_pushes;
    all.parked_pulls += result.parked_pulls;
    all.breaks += result.breaks;
    all.reprocessed += result.reprocessed;
    all.deadlines_passed += result.deadlines_passed;
    all.lost_workers += result.lost_workers;
    all.saves += result.saves;
  }
  // What is meant to happen did happen: a run that never meets a duplicate proves nothing about duplicates.
  EXPECT_GT(all.duplicate_pushes, 100U);
  EXPECT_GT(all.parked_pulls, 100U);
  EXPECT_GT(all.breaks, 100U);
  EXPECT_GT(all.reprocessed, 10U);
  EXPECT_GT(all.deadlines_passed, 10U);
  EXPECT_GT(all.lost_workers, 10U);
  EXPECT_GT(all.saves, 10U);
  std::cout << all.messages << " messages, " << all.breaks << " breaks, " << all.duplicate_pushes
            << " duplicate pushes, " << all.parked_pulls << " parked pulls, " << all.lost_workers << " lost workers"
            << std::endl;
}

TEST(Simulation, TheSameSeedGivesTheSameRun) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Parameters parameters = Parameters::FromSeed(seed);
    const Result first = Simulate(parameters);
    const Result second = Simulate(parameters);
    EXPECT_EQ(first.digest, second.digest) << ToString(parameters);
    EXPECT_EQ(first.messages, second.messages) << ToString(parameters);
  }
}

struct Mistake {
  const char* name;
  bool Mutations::*flag = nullptr;
  RowMutation row = RowMutation::kNone;
};

class DeliberateMistake : public testing::TestWithParam<Mistake> {};

// A checker that misses a deliberate mistake would miss a real one.
TEST_P(DeliberateMistake, IsCaught) {
  Mutations mutations;
  if (GetParam().flag != nullptr) mutations.*GetParam().flag = true;
  mutations.row = GetParam().row;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Result result = Simulate(Parameters::FromSeed(seed), mutations);
    if (!result.violations.empty()) {
      std::cout << GetParam().name << ": caught by seed " << seed << ", " << result.violations.front() << std::endl;
      return;
    }
  }
  FAIL() << GetParam().name << " was not caught by seeds 1 to " << kSeeds;
}

INSTANTIATE_TEST_SUITE_P(Simulation, DeliberateMistake,
                         testing::Values(Mistake{.name = "NoDuplicateFilter", .row = RowMutation::kNoDuplicateFilter},
                                         Mistake{.name = "FilterPerMessage", .row = RowMutation::kFilterPerMessage},
                                         Mistake{"PullWithoutAfter", &Mutations::pull_without_after},
                                         Mistake{.name = "AcknowledgeBeforeApplying",
                                                 .row = RowMutation::kAcknowledgeBeforeApplying},
                                         Mistake{"KeepLeasesOfLostWorkers", &Mutations::keep_leases_of_lost_workers},
                                         Mistake{"DoneBeforeAcknowledged", &Mutations::done_before_acknowledged},
                                         Mistake{"AckedBelowSkipsOpen", &Mutations::acked_below_skips_open},
                                         Mistake{"NoReissue", &Mutations::no_reissue},
                                         Mistake{"IgnorePullDeadline", &Mutations::ignore_pull_deadline}),
                         [](const testing::TestParamInfo<Mistake>& info) { return info.param.name; });

}  // namespace
}  // namespace attune::ps::simulation
