#include "examples/word2vec/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/os/file.h"
#include "tests/scratch.h"

namespace attune::word2vec::evaluation_test {
namespace {

using testing::HasSubstr;

const Vocabulary kVocabulary({{"east", 1000}, {"also_east", 900}, {"north", 800}, {"west", 700}, {"rare", 3}}, 1);
const Model kModel{.dim = 2, .inputs = {1, 0, 5, 0.5F, 0, 2, -1, 0, 1, 0}, .outputs = std::vector<float>(10)};

TEST(Neighbors, AreOrderedByCosineAndLeaveRareWordsOut) {
  EXPECT_EQ(Neighbors(kModel, kVocabulary, "east"), "east: also_east 1.00, north 0.00, west -1.00");
  EXPECT_EQ(Neighbors(kModel, kVocabulary, "east", 1), "east: also_east 1.00");
  EXPECT_EQ(Neighbors(kModel, kVocabulary, "absent"), "absent: not in the vocabulary");
}

TEST(WriteVectors, UsesTheTextFormat) {
  const Scratch directory;
  ASSERT_TRUE(WriteVectors(directory.path() / "v.txt", kModel, kVocabulary).ok());
  EXPECT_EQ(*ReadFile(directory.path() / "v.txt"), "5 2\neast 1 0\nalso_east 5 0.5\nnorth 0 2\nwest -1 0\nrare 1 0\n");
}

TEST(WriteVectors, SaysWhereItCannotWrite) {
  const Scratch directory;
  const Status status = WriteVectors(directory.path() / "absent" / "v.txt", kModel, kVocabulary);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(Message(status)), HasSubstr("absent"));
}

// With all outputs zero every score is 0: log 2 for the pair and log 2 for each of its negatives.
TEST(HeldOutLoss, OfAnUntrainedModelIsThatOfGuessing) {
  std::vector<WordId> words;
  for (WordId i = 0; i < 2000; ++i) words.push_back(i % 5);
  BatchBuilder builder(kVocabulary, {.negatives = 5, .subsample = 1});
  EXPECT_NEAR(HeldOutLoss(kModel, Chunks(words, 20), builder), 6 * std::log(2.0), 1e-5);
  EXPECT_TRUE(std::isnan(HeldOutLoss(kModel, Chunks(words, 2000), builder))) << "one chunk: nothing is held out";
}

}  // namespace
}  // namespace attune::word2vec::evaluation_test
