// Rates, cool-downs and gains of policies: when a change of setting has to wait, for how long, and why.
#include "operator/controller/tuning/change_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace attune::controller::change_gate_test {
namespace {

using testing::HasSubstr;

constexpr ProposedChange kTrial{.trial = true, .back = false, .gain = {}};

TEST(ChangeGate, WithoutPoliciesNothingWaits) {
  EXPECT_FALSE(WhyNotNow({}, {{0, true, true}, {1, false, false}}, kTrial, 2));
}

TEST(ChangeGate, TrialsWaitUntilAnHourHasFewer) {
  policy::Effective rules;
  rules.trials_per_hour = 2;
  const std::vector<PastChange> past = {{100, true}, {200, false}, {400, true}};
  const auto refusal = WhyNotNow(rules, past, kTrial, 1000);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->seconds, 100 + 3600 - 1000);
  EXPECT_THAT(refusal->why, HasSubstr("allows 2 trials in an hour"));
  EXPECT_FALSE(WhyNotNow(rules, past, kTrial, 100 + 3600));
  EXPECT_FALSE(WhyNotNow(rules, past, {.trial = false, .back = false, .gain = {}}, 1000)) << "moves have their own";
  rules.trials_per_hour = 0;
  EXPECT_TRUE(WhyNotNow(rules, {}, kTrial, 1000));
}

TEST(ChangeGate, AnyChangeBeginsACoolDown) {
  policy::Effective rules;
  rules.cool_down_seconds = 120;
  EXPECT_EQ(WhyNotNow(rules, {{100, false}}, kTrial, 150)->seconds, 70);
  EXPECT_FALSE(WhyNotNow(rules, {{100, false}}, kTrial, 220));
}

TEST(ChangeGate, TheWayBackFromATrialNeverWaits) {
  policy::Effective rules;
  rules.cool_down_seconds = 1000;
  rules.moves_per_hour = 0;
  EXPECT_FALSE(WhyNotNow(rules, {{100, true}}, {.trial = false, .back = true, .gain = {}}, 101));
}

TEST(ChangeGate, AChangeWaitsForOtherJobsOfTheNamespace) {
  policy::Effective rules;
  rules.concurrent_changes_per_namespace = 2;
  EXPECT_FALSE(WhyNotNow(rules, {}, {.trial = true, .others_changing = 1}, 1));
  const auto refusal = WhyNotNow(rules, {}, {.trial = true, .others_changing = 2}, 1);
  ASSERT_TRUE(refusal);
  EXPECT_THAT(refusal->why, HasSubstr("a policy lets 2 jobs of a namespace change at a time, and 2 others do"));
  EXPECT_FALSE(WhyNotNow(rules, {}, {.back = true, .others_changing = 2}, 1));
}

TEST(ChangeGate, AChangeWithoutRoomInTheNamespaceIsNotMade) {
  EXPECT_EQ(WhyNotNow({}, {}, {.trial = true, .no_room = "full"}, 1)->why, "full");
  EXPECT_FALSE(WhyNotNow({}, {}, {.back = true, .no_room = "full"}, 1));
}

TEST(ChangeGate, NothingIsTriedAfterTooManyCrashes) {
  policy::Effective rules;
  rules.crashes_per_job = 1;
  EXPECT_FALSE(WhyNotNow(rules, {{100, true, false}}, kTrial, 1e6));
  EXPECT_TRUE(WhyNotNow(rules, {{100, true, true}}, kTrial, 1e6));
  EXPECT_FALSE(WhyNotNow(rules, {{100, true, true}}, {.trial = false, .back = false, .gain = {}}, 1e6));
}

TEST(ChangeGate, AMoveNeedsTheGainAndTheCertaintyThatPoliciesAskFor) {
  const auto move = [](double gain, double deviation) {
    return ProposedChange{.trial = false, .back = false, .gain = tuner::Gain{std::log(gain), deviation}};
  };
  policy::Effective rules;
  rules.min_gain_percent = 5;
  EXPECT_TRUE(WhyNotNow(rules, {}, move(1.04, 0.01), 0));
  EXPECT_FALSE(WhyNotNow(rules, {}, move(1.06, 0.01), 0));
  rules.certainty = 0.95;
  EXPECT_FALSE(WhyNotNow(rules, {}, move(1.06, 0.03), 0));  // 1.94 deviations
  EXPECT_TRUE(WhyNotNow(rules, {}, move(1.06, 0.05), 0));   // 1.17 deviations
}

}  // namespace
}  // namespace attune::controller::change_gate_test
