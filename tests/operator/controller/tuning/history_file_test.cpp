#include "operator/controller/tuning/history_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/os/file.h"
#include "tests/scratch.h"

namespace attune::controller::history_file_test {
namespace {

using ::testing::HasSubstr;

tuner::HistoryEntry Entry(const std::string& job, const std::string& signature = "word2vec") {
  return {.signature = signature,
          .job = job,
          .knobs = {"servers", "workers"},
          .speeds = {{{1, 4}, -2.0, 100, 5}},
          .best = {1, 4}};
}

class HistoryFileTest : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return directory_ / "tuner-history.json"; }

  const Scratch scratch_;
  const std::filesystem::path& directory_ = scratch_.path();
};

TEST_F(HistoryFileTest, WhatOneOperatorLearnedTheNextOneFinds) {
  HistoryFile first(path());
  ASSERT_TRUE(first.Open().ok()) << "no file is an empty history";
  EXPECT_TRUE(first.history().empty());
  ASSERT_TRUE(first.Add(Entry("a")).ok());
  HistoryFile second(path());
  ASSERT_TRUE(second.Open().ok());
  ASSERT_EQ(second.history().Similar("word2vec", {"servers", "workers"}).size(), 1u);
  EXPECT_EQ(second.history().entries()[0].best, (tuner::Setting{1, 4}));
}

TEST_F(HistoryFileTest, OperatorsThatShareAFileAddToEachOther) {
  HistoryFile one(path()), other(path());
  ASSERT_TRUE(one.Open().ok() && other.Open().ok());
  ASSERT_TRUE(one.Add(Entry("a")).ok());
  ASSERT_TRUE(other.Add(Entry("b")).ok());
  EXPECT_EQ(other.history().entries().size(), 2u);
}

TEST_F(HistoryFileTest, AJobThatTwoOperatorsSawCountsOnce) {
  HistoryFile file(path());
  ASSERT_TRUE(file.Add(Entry("a")).ok());
  ASSERT_TRUE(file.Add(Entry("a")).ok());
  EXPECT_EQ(file.history().entries().size(), 1u);
}

TEST_F(HistoryFileTest, ADamagedFileIsToldAndMovedAsideByTheNextEntry) {
  ASSERT_TRUE(WriteFileAtomically(path(), "{\"entries\": [").ok());
  HistoryFile file(path());
  const Status opened = file.Open();
  EXPECT_FALSE(opened.ok());
  EXPECT_THAT(attune::ToString(opened), HasSubstr(path().string()));
  EXPECT_TRUE(file.history().empty());
  ASSERT_TRUE(file.Add(Entry("a")).ok());
  EXPECT_TRUE(std::filesystem::exists(path().string() + ".damaged"));
  ASSERT_TRUE(file.Open().ok());
  EXPECT_EQ(file.history().entries().size(), 1u);
}

TEST_F(HistoryFileTest, AFileBeyondItsBoundIsRefused) {
  ASSERT_TRUE(WriteFileAtomically(path(), std::string(tuner::JobHistory::kBytesMax + 1, ' ')).ok());
  EXPECT_EQ(HistoryFile(path()).Open().code(), StatusCode::kResourceExhausted);
}

TEST_F(HistoryFileTest, APlaceThatCannotBeWrittenIsAnErrorAndNothingIsLostInMemory) {
  HistoryFile file(directory_ / "missing" / "history.json");
  ASSERT_TRUE(file.Open().ok());
  EXPECT_FALSE(file.Add(Entry("a")).ok());
  EXPECT_EQ(file.history().entries().size(), 1u);
}

TEST_F(HistoryFileTest, WithoutAPathItLivesInMemory) {
  HistoryFile file;
  ASSERT_TRUE(file.Open().ok());
  ASSERT_TRUE(file.Add(Entry("a")).ok());
  EXPECT_EQ(file.history().entries().size(), 1u);
}

}  // namespace
}  // namespace attune::controller::history_file_test
