#include "operator/tuner/records/history.h"

#include <gtest/gtest.h>

#include <cmath>

#include "operator/tuner/tuner.h"

namespace attune::tuner::history_test {
namespace {

double SecondsPerUpdate(const Setting& s) { return 0.1 * (1.0 / s[1] + 0.6 / s[0] + 0.03 * s[1] + 0.02 * s[0]); }

double Play(Tuner& tuner, double steps_to_go) {
  Setting here{1, 1};
  double time = 0;
  while (steps_to_go > 0) {
    const Decision decision = tuner.Decide(time, here);
    here = decision.setting;
    time += decision.seconds;
    const double steps = decision.seconds / SecondsPerUpdate(here);
    EXPECT_TRUE(tuner.Absorb({.setting = here, .time = time, .seconds = decision.seconds, .steps = steps}).ok());
    steps_to_go -= steps;
  }
  return time;
}

JobDescription Job(JobHistory history) {
  JobDescription job;
  job.space.knobs = {{"servers", 1, 8}, {"workers", 1, 16}};
  job.goal = {.kind = GoalKind::kSteps, .target = 8'000};
  job.costs = {.live = 0.2, .relocation = 2, .pods = 10, .crash = 40};
  job.window_seconds = 5;
  job.signature = "word2vec";
  job.history = std::move(history);
  return job;
}

TEST(HistoryTest, ASimilarJobStartsFromWhatTheLastOneLearned) {
  PriorCache priors;
  auto cold = Tuner::Create(Job({}), priors);
  ASSERT_TRUE(cold.ok());
  const double cold_seconds = Play(*cold, 8'000);
  JobHistory history;
  history.Add(cold->Summary());
  auto loaded = JobHistory::Load(history.Save());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_EQ(loaded->entries().size(), 1U);
  auto warm = Tuner::Create(Job(*loaded), priors);
  ASSERT_TRUE(warm.ok());
  const double warm_seconds = Play(*warm, 8'000);
  EXPECT_LE(warm_seconds, cold_seconds);
  ASSERT_FALSE(warm->records().empty());
  EXPECT_LT(SecondsPerUpdate(warm->records().front().to), 1.06 * SecondsPerUpdate(cold->Incumbent()))
      << "its first move goes where the last job ended";
}

TEST(HistoryTest, TheStoreIsBounded) {
  JobHistory history;
  for (int i = 0; i < 1000; ++i)
    history.Add({.signature = "job" + std::to_string(i % 100),
                 .knobs = {"servers"},
                 .speeds = {{{1}, -2.0 - i, 100, 1}},
                 .best = {1}});
  EXPECT_LE(history.entries().size(), JobHistory::kEntriesMax);
  for (int i = 0; i < 10; ++i) history.Add({.signature = "same", .knobs = {"servers"}, .best = {i}});
  EXPECT_EQ(history.Similar("same", {"servers"}).size(), JobHistory::kPerSignatureMax);
  EXPECT_EQ(history.Similar("same", {"servers"}).front()->best, Setting{9}) << "newest first";
  EXPECT_TRUE(history.Similar("same", {"workers"}).empty());
  EXPECT_LT(history.Save().size(), JobHistory::kBytesMax);
}

TEST(HistoryTest, DamagedTextAndOddEntriesAreRefused) {
  EXPECT_FALSE(JobHistory::Load("{").ok());
  EXPECT_FALSE(JobHistory::Load("{}").ok());
  EXPECT_FALSE(JobHistory::Load(std::string(JobHistory::kBytesMax + 1, ' ')).ok());
  JobHistory history;
  history.Add({.signature = "odd", .knobs = {"servers"}, .speeds = {{{1}, std::nan(""), 1, 1}}});
  EXPECT_TRUE(history.empty());
}

}  // namespace
}  // namespace attune::tuner::history_test
