#include "examples/header-words/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/examples/header-words/two_kinds.h"

namespace attune::header_words::evaluation_test {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

class EvaluationTest : public testing::Test {
 protected:
  // Vectors of one value that say the kind: above 0 for sockets, below for strings, 0 for what both have.
  Model ModelOfKinds() const {
    Model model{.options = {.dim = 1, .mean = 0.3F, .regularization = 0}, .headers = {}, .identifiers = {}};
    const auto add = [](std::vector<float>& rows, const std::string& name, float much) {
      const bool socket = name.find("socket") != std::string::npos, string = name.find("string") != std::string::npos;
      rows.push_back(socket ? much : string ? -much : 0);
      rows.push_back(0);  // bias
    };
    for (const std::string& header : corpus_.headers) add(model.headers, header, 1);
    for (const std::string& identifier : corpus_.identifiers) add(model.identifiers, identifier, 0.5F);
    return model;
  }

  const TwoKinds text_;
  const Corpus corpus_ = *LoadCorpus({.directories = {text_.path()}, .headers_min = 2, .identifiers_min = 2});
};

TEST_F(EvaluationTest, HeldOutCellsAreHalfZerosAndAllTrue) {
  size_t zeros = 0;
  const auto cells = HeldOutCells(corpus_, 1);
  ASSERT_GT(cells.size(), 8U);
  for (const HeldOutCell& cell : cells) {
    EXPECT_TRUE(IsHeldOut(cell.header, cell.identifier));
    EXPECT_EQ(cell.value, corpus_.ValueAt(cell.header, cell.identifier));
    zeros += cell.value == 0;
  }
  EXPECT_LE(zeros, cells.size() / 2);
  EXPECT_GT(zeros, 0U);
}

TEST_F(EvaluationTest, AModelThatKnowsTheKindsIsBetterThanBiases) {
  const Model model = ModelOfKinds();
  const auto cells = HeldOutCells(corpus_, 1);
  const Errors errors = Judge(model, Additive(corpus_, MeanOf(corpus_), 1), cells);
  EXPECT_EQ(errors.cells, cells.size());
  EXPECT_LT(errors.model, errors.additive);
}

TEST_F(EvaluationTest, BiasesKnowWhichNamesAreEverywhere) {
  const Additive additive(corpus_, MeanOf(corpus_), 1);
  const auto id = [&](const std::string& name) {
    return static_cast<IdentifierId>(std::ranges::find(corpus_.identifiers, name) - corpus_.identifiers.begin());
  };
  EXPECT_NEAR(additive.At(0, id("size_of_both")), std::log(2.0), 0.15);
  EXPECT_GT(additive.At(0, id("size_of_both")), additive.At(0, id("socket_name3")));
}

TEST_F(EvaluationTest, NamesHeadersOfAKindAndWhatTheyLack) {
  const Model model = ModelOfKinds();
  const HeaderId header = corpus_.Find("socket/h3.h");
  ASSERT_LT(header, corpus_.headers.size());
  for (const HeaderId kindred : Kindred(model, header, 5)) {
    EXPECT_THAT(corpus_.headers[kindred], HasSubstr("socket/"));
    EXPECT_NE(kindred, header);
  }
  std::vector<std::string> lacking;
  for (const IdentifierId id : Lacking(model, corpus_, header, 3)) {
    EXPECT_EQ(corpus_.ValueAt(header, id), 0);
    lacking.push_back(corpus_.identifiers[id]);
  }
  EXPECT_THAT(lacking, Each(StartsWith("socket_")));
  const std::string report =
      Report(model, corpus_, {.cells = 10, .model = 0.1, .additive = 0.2, .mean = 0.3}, {"socket/h3.h", "no_such.h"});
  EXPECT_THAT(report, HasSubstr("error in 10 held-out cells: 0.100; by biases alone 0.200"));
  EXPECT_THAT(report, HasSubstr("socket/h3.h\n  of its kind: socket/"));
  EXPECT_THAT(report, testing::Not(HasSubstr("no_such")));
}

}  // namespace
}  // namespace attune::header_words::evaluation_test
