#include "examples/header-words/batch.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "tests/examples/header-words/two_kinds.h"

namespace attune::header_words::batch_test {
namespace {

class BatchTest : public testing::Test {
 protected:
  const TwoKinds text_;
  const Corpus corpus_ = *LoadCorpus({.directories = {text_.path()}, .headers_min = 2, .identifiers_min = 2});
};

TEST_F(BatchTest, AnEpochHasEveryHeaderOnceAndEveryCellOfTraining) {
  BatchBuilder builder(corpus_, 3, 5);
  ASSERT_EQ(builder.count(), 14U) << "of 40 headers, the last has one";
  std::set<ps::Key> headers;
  std::map<std::pair<ps::Key, ps::Key>, float> seen;
  size_t zeros = 0;
  Batch batch;
  for (uint64_t item = 0; item < builder.count(); ++item) {
    builder.Build(2, item, batch);
    for (const ps::Key header : batch.headers) EXPECT_TRUE(headers.insert(header).second);
    EXPECT_EQ(std::set(batch.identifiers.begin(), batch.identifiers.end()).size(), batch.identifiers.size());
    for (size_t cell = 0; cell < batch.cells(); ++cell) {
      const auto header = static_cast<HeaderId>(batch.headers.at(batch.header_rows[cell]));
      const auto identifier = static_cast<IdentifierId>(batch.identifiers.at(batch.identifier_rows[cell]));
      EXPECT_FALSE(IsHeldOut(header, identifier));
      EXPECT_EQ(batch.values[cell], corpus_.ValueAt(header, identifier));
      if (batch.values[cell] == 0) {
        ++zeros;
      } else {
        EXPECT_TRUE(seen.emplace(std::pair(header, identifier), batch.values[cell]).second) << "once";
      }
    }
  }
  EXPECT_EQ(headers.size(), corpus_.headers.size());
  size_t expected = 0;
  for (HeaderId header = 0; header < corpus_.headers.size(); ++header) {
    for (const Cell& cell : corpus_.CellsOf(header)) expected += !IsHeldOut(header, cell.identifier);
  }
  EXPECT_EQ(seen.size(), expected);
  EXPECT_GT(zeros, expected / 3) << "one draw for each of the others; those of its own kind are no zeros";
  EXPECT_LT(zeros, expected);
}

TEST_F(BatchTest, IsTheSameInEveryProcessWithOtherZerosInEachEpoch) {
  BatchBuilder one(corpus_, 4, 5), other(corpus_, 4, 5);
  Batch first, again, next;
  one.Build(0, 3, next);
  one.Build(1, 3, first);
  other.Build(1, 3, again);
  EXPECT_EQ(first.headers, again.headers);
  EXPECT_EQ(first.identifiers, again.identifiers);
  EXPECT_EQ(first.values, again.values);
  EXPECT_EQ(first.headers, next.headers) << "a header stays with the same others";
  EXPECT_NE(first.identifiers, next.identifiers);
}

}  // namespace
}  // namespace attune::header_words::batch_test
