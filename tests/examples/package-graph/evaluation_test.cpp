#include "examples/package-graph/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/examples/package-graph/small_lists.h"

namespace attune::package_graph::evaluation_test {
namespace {

using testing::HasSubstr;

constexpr Relation kDepends = Relation::kDepends;

// a -> b, c trained, a -> d held out, of five things. With one complex number for each and relation 1, the score of
// (a, x) is the product of the real parts.
Graph SmallGraph() {
  return {.names = {"a", "b", "c", "d", "e"},
          .training = {{0, 1, kDepends}, {0, 2, kDepends}, {4, 1, kDepends}},
          .held_out = {{0, 3, kDepends}}};
}
Model SmallModel() {
  return {.dim = 2, .entities = {1, 0, 9, 0, 8, 0, 5, 0, 7, 0}, .relations = std::vector<float>(18, 0)};
}

TEST(Judge, RanksLeaveOutOtherRightAnswers) {
  const Graph graph = SmallGraph();
  Model model = SmallModel();
  model.relations[0] = 1;
  const Judgment judgment = Judge(graph).JudgeModel(model, 10);
  // Tails of a: scores a 1, b 9, c 8, d 5, e 7. b and c are right as well; only e is before d: rank 2.
  // Heads of d: scores a 5, b 45, c 40, d 25, e 35: four before a: rank 5.
  EXPECT_EQ(judgment.all.count, 2U);
  EXPECT_DOUBLE_EQ(judgment.all.Mrr(), (1.0 / 2 + 1.0 / 5) / 2);
  EXPECT_DOUBLE_EQ(judgment.all.Hits10(), 1);
}

TEST(Judge, PopularityRanksByTrainingLinksAndSharesPlaces) {
  const Graph graph = SmallGraph();
  const Judgment popularity = Judge(graph).JudgePopularity(10);
  // As tails, b was seen twice, c once, both right as well; a, d, e never: d shares places 1 to 3.
  // As heads, a was seen twice, e once: a is first.
  EXPECT_DOUBLE_EQ(popularity.all.Mrr(), (1.0 / 2 + 1.0) / 2);
}

TEST(Judge, AModelWithoutOpinionIsInTheMiddle) {
  const Graph graph = SmallGraph();
  const Judgment judgment = Judge(graph).JudgeModel(SmallModel(), 10);  // all scores are 0
  EXPECT_DOUBLE_EQ(judgment.all.Mrr(), (1.0 / (1 + 2 / 2.0) + 1.0 / (1 + 4 / 2.0)) / 2);
}

TEST(Judge, PredictionsLeaveOutWhatTrainingKnows) {
  const Graph graph = SmallGraph();
  Model model = SmallModel();
  model.relations[0] = 1;
  EXPECT_THAT(Judge(graph).Predict(model, Side::kTail, 0, kDepends, 9), testing::ElementsAre(4U, 3U));
}

TEST(Report, ShowsRanksGuessesAndNews) {
  const Graph graph = SmallGraph();
  Model model = SmallModel();
  model.relations[0] = 1;
  const Judge judge(graph);
  const std::string report =
      Report(model, graph, judge, judge.JudgeModel(model, 10), judge.JudgePopularity(10), {"a", "absent"});
  EXPECT_THAT(report, HasSubstr("depends           2  0.350  0.750        1.000  1.000"));
  EXPECT_THAT(report, HasSubstr("  a depends: e, [d]\n"));
  EXPECT_THAT(report, HasSubstr("a recommends: "));
  EXPECT_THAT(report, testing::Not(HasSubstr("absent")));
}

}  // namespace
}  // namespace attune::package_graph::evaluation_test
