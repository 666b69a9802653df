#include "operator/controller/tuning/state/shown_tuning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace attune::controller::shown_tuning_test {
namespace {

const JobSetting kSmall{.servers = 1, .workers = 2}, kLarge{.servers = 2, .workers = 4, .threads = 3};

api::TuningStatus Filled(const ShownTuning& shown, const TuningInput& input = {}) {
  api::TuningStatus status;
  shown.Fill(input, status);
  return status;
}

tuner::NamedRecord Decision(uint64_t number) {
  tuner::NamedRecord named{.knobs = {"servers", "workers"}, .record = {}};
  named.record.number = number;
  named.record.from = {1, 2};
  named.record.to = {2, 4};
  named.record.why = std::string(10'000, 'w');
  named.record.predicted = {.mean = std::log(1.5), .deviation = 0.1};
  named.record.cost_seconds = 12;
  named.record.verdict = tuner::Verdict::kRejected;
  return named;
}

TEST(ShownTuningTest, ItSaysWhatItDoesUnlessItIsPaused) {
  ShownTuning shown;
  shown.Say("keeping 1 server");
  TuningInput input;
  EXPECT_EQ(Filled(shown, input).message, "keeping 1 server");
  input.policy.paused = true;
  input.wanted = kSmall;
  EXPECT_EQ(Filled(shown, input).message, "paused; the job keeps " + ToString(kSmall));
  EXPECT_EQ(shown.message(), "keeping 1 server");
}

TEST(ShownTuningTest, WhatChangesWithTheClockIsShownAsOfWhatIsSaved) {
  ShownTuning shown;
  EXPECT_FALSE(shown.HasExpectation());
  tuner::SettingBelief belief;
  belief.seconds_per_update = 0.25;
  belief.relative_time = 1.5;
  shown.Expect(tuner::Remaining{.low = 50, .mid = 100, .high = 200});
  EXPECT_EQ(Filled(shown).current, std::nullopt) << "nothing was saved";
  shown.Update({}, ShownTuning::Believed{.setting = kLarge, .belief = belief}, {});
  const api::TuningStatus status = Filled(shown);
  EXPECT_EQ(status.remaining_seconds, 100);
  ASSERT_TRUE(status.current);
  EXPECT_EQ(status.current->threads, 3);
  EXPECT_EQ(status.current->updates_per_second, 4);
  EXPECT_EQ(status.current->remaining_seconds, 150) << "what remains is the best setting's";
  EXPECT_EQ(status.best, std::nullopt);
  shown.Expect({});
  EXPECT_EQ(Filled(shown).remaining_seconds, std::nullopt);
  EXPECT_EQ(Filled(shown).current->remaining_seconds, 150) << "until something is saved";
}

TEST(ShownTuningTest, ASettingThatNothingIsBelievedOfIsNamedOnly) {
  ShownTuning shown;
  shown.Update({}, {}, ShownTuning::Believed{.setting = kSmall, .belief = {}});
  ASSERT_TRUE(Filled(shown).best);
  EXPECT_EQ(Filled(shown).best->workers, 2);
  EXPECT_EQ(Filled(shown).best->updates_per_second, std::nullopt);
}

TEST(ShownTuningTest, ARecommendationIsNewsOnceAndShownWhereItIsAskedFor) {
  ShownTuning shown;
  EXPECT_TRUE(shown.Recommend(kLarge));
  EXPECT_FALSE(shown.Recommend(kLarge));
  EXPECT_TRUE(shown.Recommend(kSmall));
  TuningInput input;
  input.policy.mode = api::TuningMode::kRecommend;
  EXPECT_EQ(Filled(shown, input).recommended_workers, 2);
  input.policy.mode = api::TuningMode::kAuto;
  EXPECT_EQ(Filled(shown, input).recommended_workers, std::nullopt);
}

TEST(ShownTuningTest, TheNewestDecisionsAreShownBriefly) {
  ShownTuning shown;
  std::vector<tuner::NamedRecord> story;
  for (uint64_t number = 1; number <= 8; ++number) story.push_back(Decision(number));
  shown.Update(story, {}, {});
  const auto decisions = Filled(shown).decisions;
  ASSERT_EQ(decisions.size(), api::TuningStatus::kDecisionsShown);
  EXPECT_EQ(decisions.front().number, 4U);
  EXPECT_EQ(decisions.back().number, 8U);
  EXPECT_EQ(decisions.back().kind, "Trial");
  EXPECT_EQ(decisions.back().outcome, "NotTaken");
  EXPECT_LE(decisions.back().why.size(), 512U);
  EXPECT_NEAR(decisions.back().expected_speedup.value_or(0), 1.5, 1e-9);
  EXPECT_EQ(decisions.back().measured_speedup, std::nullopt) << "it has not been measured";
  EXPECT_EQ(decisions.back().cost_seconds, 12);
  story.back().record.measured = {.mean = -std::log(2), .deviation = 0.1};
  shown.Update(story, {}, {});
  EXPECT_NEAR(Filled(shown).decisions.back().measured_speedup.value_or(0), 0.5, 1e-9);
  shown.Update({}, {}, {});
  EXPECT_TRUE(Filled(shown).decisions.empty());
}

}  // namespace
}  // namespace attune::controller::shown_tuning_test
