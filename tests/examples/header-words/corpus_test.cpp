#include "examples/header-words/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/scratch.h"

namespace attune::header_words::corpus_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CorpusTest : public testing::Test {
 protected:
  StatusOr<Corpus> Load(uint32_t headers_min, uint32_t identifiers_min) const {
    return LoadCorpus({.directories = {text_.path()}, .headers_min = headers_min, .identifiers_min = identifiers_min});
  }
  Scratch text_;
};

TEST_F(CorpusTest, CountsTheIdentifiersOfEachHeader) {
  text_.Write("b.h", "x y y // z\n\"w\"");
  text_.Write("a.h", "y; z; z; z;");
  const auto corpus = Load(1, 1);
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  EXPECT_THAT(corpus->headers, ElementsAre((text_.path() / "a.h").string(), (text_.path() / "b.h").string()));
  EXPECT_THAT(corpus->identifiers, ElementsAre("y", "x", "z")) << "that of two headers first, then by spelling";
  const HeaderId a = corpus->Find("a.h"), b = corpus->Find("b.h");
  EXPECT_FLOAT_EQ(corpus->ValueAt(a, 0), std::log(2.0F));
  EXPECT_FLOAT_EQ(corpus->ValueAt(a, 2), std::log(4.0F));
  EXPECT_EQ(corpus->ValueAt(a, 1), 0);
  EXPECT_FLOAT_EQ(corpus->ValueAt(b, 0), std::log(3.0F));
  EXPECT_EQ(corpus->ValueAt(b, 2), 0) << "in a comment";
  EXPECT_EQ(corpus->CellsOf(b).size(), 2U);
}

TEST_F(CorpusTest, LeavesOutRareNamesAndWhatHasFewOfTheOthers) {
  text_.Write("one.h", "shared1 shared2 own1");
  text_.Write("two.h", "shared1 shared2 own2 own3");
  text_.Write("three.h", "shared1 own4 own5 own6");
  const auto corpus = Load(2, 2);
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  EXPECT_THAT(corpus->identifiers, ElementsAre("shared1", "shared2"));
  EXPECT_EQ(corpus->headers.size(), 2U);
  EXPECT_EQ(corpus->Find("three.h"), 2U) << "not there";
  EXPECT_EQ(corpus->Find("ne.h"), 2U) << "no part of a name";
}

TEST_F(CorpusTest, SaysWhatToDoWhereThereIsTooLittle) {
  text_.Write("one.h", "a b c");
  const auto corpus = Load(2, 1);
  EXPECT_EQ(corpus.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(corpus.status())), HasSubstr("--min-headers"));
}

TEST_F(CorpusTest, KeepsOneCellInFiftyFromTraining) {
  int held_out = 0;
  for (HeaderId header = 0; header < 500; ++header) {
    for (IdentifierId identifier = 0; identifier < 1000; ++identifier) held_out += IsHeldOut(header, identifier);
  }
  EXPECT_NEAR(held_out, 10'000, 500);
}

}  // namespace
}  // namespace attune::header_words::corpus_test
