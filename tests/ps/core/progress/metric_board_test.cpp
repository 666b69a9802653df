#include "ps/core/progress/metric_board.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "proto/metric_name.h"

namespace attune::ps::metric_board_test {
namespace {

constexpr double kNotFinite = -1e308;  // in the tables below

struct Case {
  const char* name;
  std::optional<TargetMetric> target;
  std::optional<EarlyStopping> early_stopping;
  std::vector<double> reports;  // of "held_out", one per epoch, from epoch 1 on
  uint64_t over_at = 0;         // epoch; 0: not over
  const char* verdict = "";
};

const std::vector<Case> kCases = {
    {"a target that is reached",
     TargetMetric{"held_out", 3.2, false},
     {},
     {4, 3.5, 3.187, 3.1},
     3,
     "held_out <= 3.2 at epoch 3 (3.187)"},
    {"a target that is met exactly",
     TargetMetric{"held_out", 3.5, false},
     {},
     {4, 3.5},
     2,
     "held_out <= 3.5 at epoch 2 (3.5)"},
    {"a target above, reached by rising",
     TargetMetric{"held_out", 0.9, true},
     {},
     {0.5, 0.95},
     2,
     "held_out >= 0.9 at epoch 2 (0.95)"},
    {"a target of another name", TargetMetric{"recall", 3.2, false}, {}, {3, 2, 1}},
    {"no goal in metrics", {}, {}, {3, 4, 5}},
    {"a curve that turns",
     {},
     EarlyStopping{"held_out", 2, 0, false},
     {4, 3, 3.5, 3.1},
     4,
     "held_out no better for 2 reports at epoch 4 (best 3 at epoch 2)"},
    {"a gain in time starts the patience over",
     {},
     EarlyStopping{"held_out", 2, 0, false},
     {4, 5, 3, 5, 6},
     5,
     "held_out no better for 2 reports at epoch 5 (best 3 at epoch 3)"},
    {"gains below the least that counts add up to none",
     {},
     EarlyStopping{"held_out", 2, 0.5, false},
     {4, 3.8, 3.6},
     3,
     "held_out no better for 2 reports at epoch 3 (best 3.6 at epoch 3)"},
    {"gains below the least that counts add up to one",
     {},
     EarlyStopping{"held_out", 3, 0.5, false},
     {4, 3.8, 3.4, 3.3, 3.2}},
    {"a figure that is to rise and falls",
     {},
     EarlyStopping{"held_out", 1, 0, true},
     {0.5, 0.6, 0.55},
     3,
     "held_out no better for 1 report at epoch 3 (best 0.6 at epoch 2)"},
    {"an equal value is no better",
     {},
     EarlyStopping{"held_out", 1, 0, false},
     {3, 3},
     2,
     "held_out no better for 1 report at epoch 2 (best 3 at epoch 1)"},
    {"a model that diverges is no better",
     {},
     EarlyStopping{"held_out", 2, 0, false},
     {3, kNotFinite, kNotFinite},
     3,
     "held_out no better for 2 reports at epoch 3 (best 3 at epoch 1)"},
    {"one that was never finite has no best",
     {},
     EarlyStopping{"held_out", 1, 0, false},
     {kNotFinite},
     1,
     "held_out no better for 1 report at epoch 1"},
    {"patience is for its own metric", {}, EarlyStopping{"recall", 1, 0, false}, {3, 4, 5}},
};

std::optional<double> ValueOf(double report) { return report == kNotFinite ? std::nullopt : std::optional(report); }

// The board is thrown away after each report when `survives` is false, and another continues with its state.
void Check(const Case& expected, bool survives) {
  SCOPED_TRACE(std::string(expected.name) + (survives ? "" : ", another coordinator after each report"));
  MetricBoard board(expected.target, expected.early_stopping);
  uint64_t over_at = 0;
  for (size_t i = 0; i < expected.reports.size() && over_at == 0; ++i) {
    const MetricPlace place{.step = 100 * (i + 1), .epoch = i + 1, .items = 7};
    ASSERT_TRUE(board.Report("held_out", ValueOf(expected.reports[i]), place).ok());
    if (!board.verdict().empty()) over_at = i + 1;
    if (!survives && over_at == 0) {
      MetricBoard next(expected.target, expected.early_stopping);
      next.Restore(board.states());
      EXPECT_EQ(next.states(), board.states());
      board = next;
    }
  }
  EXPECT_EQ(over_at, expected.over_at);
  EXPECT_EQ(board.verdict(), expected.verdict);
}

TEST(MetricBoard, TrainingIsOverWhenAGoalInAMetricIsReached) {
  for (const Case& each : kCases) {
    Check(each, true);
    Check(each, false);
  }
}

// A coordinator that was without the leader lease when the report came, and that another one follows.
TEST(MetricBoard, AGoalThatNobodyHasActedOnYetIsSeenByTheNext) {
  const TargetMetric target{"held_out", 3.2, false};
  MetricBoard board(target, {});
  ASSERT_TRUE(board.Report("held_out", 3, {.step = 500, .epoch = 5}).ok());
  MetricBoard next(target, {});
  next.Restore(board.states());
  EXPECT_EQ(next.verdict(), board.verdict());
  EXPECT_EQ(next.verdict(), "held_out <= 3.2 at epoch 5 (3)");
}

// The goals of a resumed job may be others. Neither its best value nor how long it has waited for a better one is
// forgotten, and it is not over before it has reported anything.
TEST(MetricBoard, AResumedJobContinuesWithItsBestValueAndItsCount) {
  const EarlyStopping stopping{"held_out", 3, 0, false};
  MetricBoard board({}, stopping);
  for (const double value : {4.0, 3.0, 3.5, 3.25}) ASSERT_TRUE(board.Report("held_out", value, {.step = 1}).ok());
  ASSERT_TRUE(board.verdict().empty());
  MetricBoard resumed({}, stopping);
  resumed.Continue(board.states());
  EXPECT_EQ(resumed.states(), board.states());
  ASSERT_TRUE(resumed.Report("held_out", 3.1, {.step = 2}).ok());
  EXPECT_EQ(resumed.verdict(), "held_out no better for 3 reports at step 2 (best 3 at step 1)");
  std::vector<MetricState> states = board.states();
  states.push_back({.name = "no name", .reports = 1, .value = 1, .best = 1, .at = {}, .best_at = {}});
  MetricBoard of_a_file({}, stopping);
  of_a_file.Continue(states);
  EXPECT_EQ(of_a_file.states(), board.states()) << "what no program can have reported";
  MetricBoard again({}, stopping);
  again.Continue(resumed.states());
  EXPECT_EQ(again.verdict(), "") << "judged by the next report";
  ASSERT_TRUE(again.Report("held_out", 2.9, {.step = 3}).ok());
  EXPECT_EQ(again.verdict(), "");
  MetricBoard rising({}, EarlyStopping{"held_out", 3, 0, true});
  rising.Continue(board.states());
  EXPECT_TRUE(rising.states().empty()) << "counted in the other direction";
}

TEST(MetricBoard, TheBestCheckpointHasASayInTheDirectionOfItsMetric) {
  MetricBoard board({}, {}, BestCheckpointRule{"recall", true, "/c"});
  for (const double value : {0.5, 0.75, 0.25}) ASSERT_TRUE(board.Report("recall", value, {}).ok());
  ASSERT_NE(board.Find("recall"), nullptr);
  EXPECT_EQ(board.Find("recall")->best, 0.75);
  EXPECT_EQ(board.Find("loss"), nullptr);
}

TEST(MetricBoard, KeepsTheLastAndTheBestValueAndWhereTheyWere) {
  MetricBoard board(TargetMetric{"recall", 2, true}, {});
  ASSERT_TRUE(board.Report("loss", 3, {.step = 10, .epoch = 1, .items = 100}).ok());
  ASSERT_TRUE(board.Report("loss", 2, {.step = 20, .epoch = 2, .items = 200}).ok());
  ASSERT_TRUE(board.Report("loss", std::nullopt, {.step = 25, .epoch = 2, .items = 250}).ok());
  ASSERT_TRUE(board.Report("loss", 5, {.step = 30, .epoch = 3, .items = 300}).ok());
  ASSERT_TRUE(board.Report("recall", 0.5, {.step = 1, .epoch = 0, .items = 1}).ok());
  ASSERT_TRUE(board.Report("recall", 0.25, {.step = 2, .epoch = 0, .items = 2}).ok());
  const std::vector<MetricState> states = board.states();
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(states[0].name, "loss");
  EXPECT_EQ(states[0].value, 5);
  EXPECT_EQ(states[0].best, 2);
  EXPECT_EQ(states[0].at, (MetricPlace{30, 3, 300}));
  EXPECT_EQ(states[0].best_at, (MetricPlace{20, 2, 200}));
  EXPECT_EQ(states[0].reports, 3U);
  EXPECT_EQ(states[0].left_out, 1U);
  EXPECT_EQ(states[1].best, 0.5) << "the goal says that higher is better";
  EXPECT_TRUE(states[1].maximize);
}

TEST(MetricBoard, KeepsNoMoreNamesThanAJobHas) {
  MetricBoard board({}, {});
  for (size_t i = 0; i < contract::kJobMetricsMax; ++i) {
    ASSERT_TRUE(board.Report("m" + std::to_string(i), 1, {}).ok());
  }
  const Status refused = board.Report("one_more", 1, {});
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(std::string(attune::Message(refused)).find("one_more"), std::string::npos);
  EXPECT_TRUE(board.Report("m0", 2, {}).ok()) << "those that it has continue";
  EXPECT_EQ(board.states().size(), contract::kJobMetricsMax);
}

TEST(MetricName, IsShortAndOfPlainCharacters) {
  for (const char* good : {"loss", "held_out_loss", "recall@10"}) {
    EXPECT_EQ(contract::IsMetricName(good), std::string(good).find('@') == std::string::npos) << good;
  }
  EXPECT_TRUE(contract::IsMetricName("eval/top-5.accuracy"));
  EXPECT_TRUE(contract::IsMetricName(std::string(64, 'a')));
  for (const std::string& bad : {std::string(), std::string("5th"), std::string("a b"), std::string("a\n"),
                                 std::string("_x"), std::string(65, 'a'), std::string("l\xc3\xb6ss")}) {
    EXPECT_FALSE(contract::IsMetricName(bad)) << bad;
  }
}

}  // namespace
}  // namespace attune::ps::metric_board_test
