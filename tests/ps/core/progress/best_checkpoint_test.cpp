#include "ps/core/progress/best_checkpoint.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace attune::ps::best_checkpoint_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kMetric[] = "held_out";

struct Report {
  double at_seconds = 0;
  double value = 0;
  const char* metric = kMetric;
};
struct Case {
  const char* name;
  bool maximize = false;
  std::optional<double> kept;    // the best one's value at the beginning
  double takes_seconds = 0.1;    // a checkpoint
  std::vector<Report> reports;   // ascending in time
  std::vector<double> want;      // values of the checkpoints that are written
  double goal_at_seconds = 1e6;  // reached
};

const std::vector<Case> kCases = {
    {.name = "the first report is the best so far", .reports = {{0, 4}}, .want = {4}},
    {.name = "a curve that turns", .reports = {{0, 4}, {20, 3}, {40, 3.5}, {60, 3.2}}, .want = {4, 3}},
    {.name = "a curve that is to rise",
     .maximize = true,
     .reports = {{0, 0.1}, {20, 0.3}, {40, 0.2}},
     .want = {0.1, 0.3}},
    {.name = "an equal value is no better", .reports = {{0, 4}, {20, 4}}, .want = {4}},
    {.name = "another metric", .reports = {{0, 4, "loss"}}, .want = {}},
    {.name = "a resumed job knows its best one", .kept = 3.0, .reports = {{0, 3.5}, {20, 2.5}}, .want = {2.5}},
    {.name = "what comes while one is written follows it after a rest",
     .takes_seconds = 2,
     .reports = {{0, 4}, {1, 3}},
     .want = {4, 3}},
    {.name = "of several that come meanwhile the last one counts",
     .takes_seconds = 2,
     .reports = {{0, 4}, {1, 2}, {1.5, 3}},
     .want = {4, 3}},
    {.name = "one that is worse meanwhile ends the occasion",
     .takes_seconds = 2,
     .reports = {{0, 4}, {1, 3}, {1.5, 5}},
     .want = {4}},
    {.name = "a model that is long gone is not written under the name of the best",
     .takes_seconds = 20,
     .reports = {{0, 4}, {1, 3}},
     .want = {4}},
    {.name = "the goal ends the rest",
     .takes_seconds = 20,
     .reports = {{0, 4}, {30, 3}},
     .want = {4, 3},
     .goal_at_seconds = 31},
};

// Looks twice a second, as the coordinator does.
std::vector<double> Written(const Case& test) {
  MetricBoard board({}, {}, BestCheckpointRule{kMetric, test.maximize, "/c"});
  BestCheckpointKeeper keeper(BestCheckpointRule{kMetric, test.maximize, "/c"});
  if (test.kept) {
    keeper.Restore(BestCheckpoint{.metric = kMetric,
                                  .maximize = test.maximize,
                                  .value = *test.kept,
                                  .at = {},
                                  .directory = "/c",
                                  .checkpoint = 1});
  }
  std::vector<double> written;
  struct Running {
    MonotonicTime begun;
    BestCheckpoint mark;
  };
  std::optional<Running> running;
  size_t next = 0;
  for (MonotonicTime now{}; now < MonotonicTime(seconds(200)); now += milliseconds(100)) {
    const double at = Seconds(now.time_since_epoch());
    for (; next < test.reports.size() && test.reports[next].at_seconds <= at; ++next) {
      EXPECT_TRUE(board.Report(test.reports[next].metric, test.reports[next].value, {.step = next + 1}).ok());
      keeper.Note(test.reports[next].metric, board, now);
    }
    if (running && Seconds(now - running->begun) >= test.takes_seconds) {
      written.push_back(running->mark.value);
      keeper.End(running->mark, now, now - running->begun);
      running.reset();
    }
    if (!running && keeper.IsDue(board, now, at >= test.goal_at_seconds)) {
      keeper.Begin();
      running = Running{now, keeper.Mark(board, "/c", written.size() + 2)};
    }
  }
  return written;
}

TEST(BestCheckpoint, ASequenceOfReportsAndWhatIsWritten) {
  for (const Case& test : kCases) EXPECT_EQ(Written(test), test.want) << test.name;
}

TEST(BestCheckpoint, AMetricThatImprovesAtEveryStepCostsAFifthOfTheTimeAtMost) {
  Case test{.name = "", .takes_seconds = 1, .reports = {}, .want = {}};
  for (int i = 0; i < 1000; ++i) test.reports.push_back({i * 0.1, 1000.0 - i});
  const size_t written = Written(test).size();
  EXPECT_LE(written, 21U) << "in 100 s, of 1 s each";
  EXPECT_GE(written, 18U) << "and no longer rest than that";
}

TEST(BestCheckpoint, OneThatFailsLeavesTheFormerAndWaitsForABetterReport) {
  const BestCheckpointRule rule{kMetric, false, "/c"};
  MetricBoard board({}, {}, rule);
  BestCheckpointKeeper keeper(rule);
  MonotonicTime now{};
  const auto report = [&](double value) {
    now += seconds(60);
    EXPECT_TRUE(board.Report(kMetric, value, {}).ok());
    keeper.Note(kMetric, board, now);
    return keeper.IsDue(board, now, false);
  };
  ASSERT_TRUE(report(4));
  keeper.Begin();
  keeper.End(keeper.Mark(board, "/c", 1), now, seconds(1));
  ASSERT_TRUE(report(3));
  keeper.Begin();
  keeper.End(std::nullopt, now, seconds(1));
  EXPECT_EQ(keeper.kept()->value, 4);
  EXPECT_FALSE(keeper.IsDue(board, now + seconds(9), false)) << "the model has changed since";
  EXPECT_TRUE(report(3.5)) << "no better than ever, but better than what was kept";
}

TEST(BestCheckpoint, ItDoesNotCountAsTheBestByAnotherMetricOrInTheOtherDirection) {
  const BestCheckpoint best{
      .metric = kMetric, .maximize = false, .value = 3, .at = {}, .directory = "/c", .checkpoint = 7};
  for (const auto& [metric, maximize, want] :
       {std::tuple(kMetric, false, true), std::tuple(kMetric, true, false), std::tuple("recall", false, false)}) {
    BestCheckpointKeeper keeper(BestCheckpointRule{metric, maximize, "/c"});
    keeper.Restore(best);
    EXPECT_EQ(keeper.kept().has_value(), want) << metric << " " << maximize;
  }
}

TEST(BestCheckpoint, SaysByWhatItIsTheBest) {
  BestCheckpoint best{.metric = kMetric, .maximize = false, .value = 3.18749, .at = {.step = 900, .epoch = 41}};
  EXPECT_EQ(Describe(best), "held_out 3.187 at epoch 41");
  best.at.epoch = 0;
  EXPECT_EQ(Describe(best), "held_out 3.187 at step 900");
}

}  // namespace
}  // namespace attune::ps::best_checkpoint_test
