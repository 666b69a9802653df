#include "examples/word2vec/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "tests/scratch.h"

namespace attune::word2vec::corpus_test {
namespace {

using testing::HasSubstr;

std::string Spelled(const Corpus& corpus) {
  std::string text;
  for (const WordId id : corpus.text) text += corpus.vocabulary.words[id] + ' ';
  return text;
}

TEST(Corpus, ReadsFilesInTheOrderOfTheirPathsAndLeavesRareWordsOut) {
  const Scratch text;
  text.Write("b.h", "two two one");
  text.Write("a/z.h", "one one rare");
  const auto corpus = LoadCorpus({.directories = {text.path()}, .count_min = 2});
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  EXPECT_EQ(Spelled(*corpus), "one one two two one ");
  EXPECT_EQ(corpus->files, 2U);
  EXPECT_EQ(corpus->bytes, 23U);
}

TEST(Corpus, SeveralDirectoriesAreOneText) {
  const Scratch text;
  for (int i = 100; i < 200; ++i) text.Write("b/" + std::to_string(i), "w" + std::to_string(i) + " ");
  text.Write("a/first.h", "absent");
  text.Write("c/last.h", "last");
  std::string want;
  for (int i = 100; i < 200; ++i) want += "w" + std::to_string(i) + " ";
  const auto corpus =
      LoadCorpus({.directories = {text.path() / "c", text.path() / "b", text.path() / "b"}, .count_min = 1});
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  EXPECT_EQ(Spelled(*corpus), want + "last ") << "by path, each file once, however many are read at a time";
}

TEST(Corpus, BinaryAndLinkedFilesAreLeftOut) {
  const Scratch text;
  text.Write("a.h", "one one two two");
  text.Write("b.so", std::string("three\0three", 11));
  std::filesystem::create_symlink(text.path() / "a.h", text.path() / "link.h");
  const auto corpus = LoadCorpus({.directories = {text.path()}, .count_min = 1});
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  EXPECT_EQ(Spelled(*corpus), "one one two two ");
}

TEST(Corpus, MissingEmptyAndThinTextIsExplained) {
  const Scratch text;
  const auto expect_error = [](const CorpusOptions& options, StatusCode want_code, const char* want_text) {
    const Status status = LoadCorpus(options).status();
    EXPECT_EQ(status.code(), want_code) << status;
    EXPECT_THAT(std::string(Message(status)), HasSubstr(want_text));
    EXPECT_THAT(std::string(Message(status)), HasSubstr(options.directories.back().string()));
    EXPECT_THAT(std::string(Message(status)), HasSubstr("--text"));
  };
  expect_error({.directories = {text.path(), text.path() / "absent"}}, StatusCode::kNotFound, "cannot read");
  expect_error({.directories = {text.path()}}, StatusCode::kInvalidArgument, "no text: 0 files");
  text.Write("a.h", "one two three");
  expect_error({.directories = {text.path()}, .count_min = 2}, StatusCode::kInvalidArgument, "--min-count");
  expect_error({.directories = {text.path() / "a.h"}}, StatusCode::kNotFound, "cannot read");
}

// It was "no vocabulary: 0 files".
TEST(CorpusDeathTest, ADirectoryThatMayNotBeReadIsSaid) {
  const Scratch text;
  text.Write("a.h", "one two three");
  std::filesystem::permissions(text.path(), std::filesystem::perms::none);
  const auto read_without_the_right = [&] {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(2);  // root may read everything
    const Status status = LoadCorpus({.directories = {text.path()}}).status();
    std::fprintf(stderr, "%s\n", std::string(Message(status)).c_str());
    _exit(status.ok() ? 0 : 1);
  };
  EXPECT_EXIT(read_without_the_right(), testing::ExitedWithCode(1),
              "cannot read the text directory .*Permission denied");
  std::filesystem::permissions(text.path(), std::filesystem::perms::owner_all);
}

TEST(Vocabulary, OrdersByCountThenSpelling) {
  const Vocabulary vocabulary({{"rare", 1}, {"b", 5}, {"a", 5}, {"most", 9}}, 2);
  EXPECT_EQ(vocabulary.words, (std::vector<std::string>{"most", "a", "b"}));
  EXPECT_EQ(vocabulary.counts, (std::vector<uint64_t>{9, 5, 5}));
  EXPECT_EQ(vocabulary.Find("b"), 2U);
  EXPECT_EQ(vocabulary.Find("rare"), std::nullopt);
}

TEST(Chunks, EveryWordIsInOneChunkAndEveryFiftiethIsHeldOut) {
  for (const uint64_t words : {0, 1, 10, 490, 500, 501, 999, 1000, 1001, 5003, 54321}) {
    std::vector<WordId> stream(words);
    std::iota(stream.begin(), stream.end(), 0);
    const Chunks chunks(stream, 10);
    for (const uint64_t epoch : {0, 1, 9}) {
      std::vector<int> seen(words);
      for (uint64_t i = 0; i < chunks.training_count(); ++i) {
        for (const WordId word : chunks.Training(epoch, i)) ++seen[word];
      }
      for (uint64_t i = 0; i < chunks.held_out_count(); ++i) {
        EXPECT_EQ(chunks.HeldOut(i).front() % 500, 490U);
        for (const WordId word : chunks.HeldOut(i)) ++seen[word];
      }
      EXPECT_EQ(seen, std::vector<int>(words, 1)) << words << " words, epoch " << epoch;
    }
  }
}

TEST(Chunks, ARunOfItemsIsAnEvenSampleOfTheText) {
  std::vector<WordId> stream(100'000);
  std::iota(stream.begin(), stream.end(), 0);
  const Chunks chunks(stream, 10);
  for (const uint64_t begin : {0, 32, 5000}) {
    std::vector<int> tenths(10);
    for (uint64_t item = begin; item < begin + 40; ++item) ++tenths[chunks.Training(3, item).front() / 10'000];
    for (const int count : tenths) EXPECT_NEAR(count, 4, 2) << "items from " << begin;
  }
}

}  // namespace
}  // namespace attune::word2vec::corpus_test
