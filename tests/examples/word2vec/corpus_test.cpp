#include "examples/word2vec/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "tests/examples/word2vec/text_directory.h"

namespace attune::word2vec {
namespace {

using testing::HasSubstr;

std::string Spelled(const Corpus& corpus) {
  std::string text;
  for (const WordId id : corpus.words) text += corpus.vocabulary.word(id) + ' ';
  return text;
}

TEST(Corpus, ReadsFilesInTheOrderOfTheirPathsAndLeavesRareWordsOut) {
  const TextDirectory text;
  text.Add("b.h", "two two one");
  text.Add("a/z.h", "one one rare");
  const auto corpus = LoadCorpus({.directory = text.path(), .count_min = 2});
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  EXPECT_EQ(Spelled(*corpus), "one one two two one ");
  EXPECT_EQ(corpus->files, 2U);
  EXPECT_EQ(corpus->bytes, 23U);
}

TEST(Corpus, IsTheSameForEveryNumberOfThreads) {
  const TextDirectory text;
  for (int i = 0; i < 40; ++i) {
    std::string words;
    for (int j = 0; j < 50; ++j) words += "w" + std::to_string(i * j % 37) + " ";
    text.Add("f" + std::to_string(i), words);
  }
  const auto want = LoadCorpus({.directory = text.path(), .count_min = 3, .threads = 1});
  ASSERT_TRUE(want.ok()) << want.status();
  for (const uint32_t threads : {2U, 3U, 64U}) {
    const auto corpus = LoadCorpus({.directory = text.path(), .count_min = 3, .threads = threads});
    ASSERT_TRUE(corpus.ok()) << corpus.status();
    EXPECT_EQ(Spelled(*corpus), Spelled(*want)) << threads << " threads";
  }
}

TEST(Corpus, ASampleIsOfTheSizeAskedForAndSpreadEvenly) {
  const TextDirectory text;
  for (int i = 100; i < 200; ++i) {
    std::string words;
    while (words.size() < 10'000) words += "w" + std::to_string(i) + " ";
    text.Add("f" + std::to_string(i), words);
  }
  const auto corpus = LoadCorpus({.directory = text.path(), .megabytes = 0.2, .count_min = 1});
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  EXPECT_EQ(corpus->files, 20U);
  for (int tenth = 10; tenth < 20; ++tenth) {
    int found = 0;
    for (int i = 0; i < 10; ++i) found += corpus->vocabulary.Find("w" + std::to_string(tenth * 10 + i)) ? 1 : 0;
    EXPECT_EQ(found, 2) << "files f" << tenth << "0 and following";
  }
}

TEST(Corpus, BinaryAndLinkedFilesAreLeftOut) {
  const TextDirectory text;
  text.Add("a.h", "one one two two");
  text.Add("b.so", std::string("three\0three", 11));
  std::filesystem::create_symlink(text.path() / "a.h", text.path() / "link.h");
  const auto corpus = LoadCorpus({.directory = text.path(), .count_min = 1});
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  EXPECT_EQ(Spelled(*corpus), "one one two two ");
}

TEST(Corpus, MissingEmptyAndThinTextIsExplained) {
  const TextDirectory text;
  const auto expect_error = [](const CorpusOptions& options, StatusCode want_code, const char* want_text) {
    const Status status = LoadCorpus(options).status();
    EXPECT_EQ(status.code(), want_code) << status;
    EXPECT_THAT(std::string(Message(status)), HasSubstr(want_text));
    EXPECT_THAT(std::string(Message(status)), HasSubstr(options.directory.string()));
  };
  expect_error({.directory = text.path() / "absent"}, StatusCode::kNotFound, "--text");
  expect_error({.directory = text.path()}, StatusCode::kNotFound, "holds no text");
  text.Add("a.h", "one two three");
  expect_error({.directory = text.path(), .count_min = 2}, StatusCode::kInvalidArgument, "--min-count");
  expect_error({.directory = text.path() / "a.h"}, StatusCode::kNotFound, "cannot read");
}

TEST(Chunks, EveryWordIsInOneChunkAndEveryFiftiethIsHeldOut) {
  for (const uint64_t words : {0, 1, 10, 490, 500, 501, 999, 1000, 1001, 5003}) {
    std::vector<WordId> stream(words);
    std::iota(stream.begin(), stream.end(), 0);
    const Chunks chunks(stream, 10);
    std::vector<int> seen(words);
    for (uint64_t i = 0; i < chunks.training_count(); ++i) {
      for (const WordId word : chunks.Training(i)) ++seen[word];
    }
    for (uint64_t i = 0; i < chunks.held_out_count(); ++i) {
      EXPECT_EQ(chunks.HeldOut(i).front() % 500, 490U);
      for (const WordId word : chunks.HeldOut(i)) ++seen[word];
    }
    EXPECT_EQ(seen, std::vector<int>(words, 1)) << words << " words";
  }
}

}  // namespace
}  // namespace attune::word2vec
