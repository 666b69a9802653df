#include "operator/tuner/models/pricing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::tuner::pricing_test {
namespace {

using ::testing::HasSubstr;

TEST(PricingTest, WithoutPricesACoreOrAPodCostsOne) {
  const auto cores = SearchSpace::Create(
      {.knobs = {
           {"servers", 2, 2}, {"worker_millicores", 500, 500}, {"workers", 3, 3}, {"worker_memory_mib", 99, 99}}});
  ASSERT_TRUE(cores.ok());
  EXPECT_DOUBLE_EQ(Pricing({}, *cores).PerHour(0), 3 * 0.5 + 2) << "the cores of servers are no knob";
}

TEST(PricingTest, PricesAreOfPodsCoresAndMemory) {
  const auto space = SearchSpace::Create({.knobs = {{"servers", 2, 2},
                                                    {"workers", 3, 3},
                                                    {"worker_millicores", 1500, 1500},
                                                    {"server_memory_mib", 512, 512},
                                                    {"slack", 0, 0}}});
  ASSERT_TRUE(space.ok());
  const Objective objective{
      .kind = ObjectiveKind::kCost,
      .prices = {{"workers", 0.5}, {"worker_millicores", 2}, {"server_memory_mib", 8}, {"server_millicores", 100}}};
  EXPECT_DOUBLE_EQ(Pricing(objective, *space).PerHour(0), 3 * (0.5 + 1.5 * 2) + 2 * 0.5 * 8);
}

TEST(PricingTest, WrongObjectivesAreNamed) {
  const struct {
    const char* what;
    Objective objective;
    const char* want;
  } cases[] = {
      {"a knob without a price", {.prices = {{"slack", 1}}}, "no price of slack"},
      {"a negative price", {.prices = {{"workers", -1}}}, "price of workers"},
      {"everything for nothing", {.prices = {{"workers", 0}}}, "all prices are 0"},
      {"no money", {.budget = 0}, "budget must be"},
      {"a budget without an amount", {.kind = ObjectiveKind::kTimeUnderBudget}, "needs a budget"},
  };
  for (const auto& [what, objective, want] : cases)
    EXPECT_THAT(std::string(Message(CheckObjective(objective))), HasSubstr(want)) << what;
  EXPECT_TRUE(CheckObjective({}).ok());
  EXPECT_TRUE(CheckObjective({.kind = ObjectiveKind::kTimeUnderBudget, .budget = 3}).ok());
}

}  // namespace
}  // namespace attune::tuner::pricing_test
