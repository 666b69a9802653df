#include "cli/pull/file_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/file_pages.h"
#include "tests/cli/pull/memory_target.h"
#include "tests/scratch.h"

namespace attune::cli::file_copy_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// The real pages over a real directory, into a place in memory. A test may spoil what comes, or act before it comes.
class FileCopyTest : public ::testing::Test {
 protected:
  StatusOr<CopyResult> Copy(CopyOptions options = {}) {
    requests_.clear();
    FilePages pages(scratch_.path(), time_);
    ShownFiles shown([&](const std::string& request) {
      requests_.push_back(request);
      if (before_) before_(request);
      auto answer = pages.Answer(request);
      if (answer.ok() && spoil_) spoil_(request, *answer);
      return answer;
    });
    return CopyFiles(shown, target_, options);
  }
  int Requests(const std::string& word) const {
    return static_cast<int>(
        std::ranges::count_if(requests_, [&](const std::string& request) { return request.starts_with(word); }));
  }

  const SystemTime time_;
  const Scratch scratch_;
  MemoryTarget target_;
  std::vector<std::string> requests_;
  std::function<void(const std::string& request)> before_;
  std::function<void(const std::string& request, std::string& answer)> spoil_;
};

TEST_F(FileCopyTest, EveryFileArrivesUnderItsName) {
  const std::string large(kFileBlockBytes + kFilePageBytes + 7, 'l');
  scratch_.Write("tables/large", large);
  scratch_.Write("vocabulary.txt", "the\na\n");
  scratch_.Write("empty", "");
  const auto result = Copy();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->files.size(), 3U);
  EXPECT_EQ(result->bytes, large.size() + 6);
  EXPECT_EQ(result->received, large.size() + 6);
  EXPECT_EQ(target_.files.size(), 3U);
  EXPECT_EQ(target_.files["vocabulary.txt"], "the\na\n");
  EXPECT_EQ(target_.files["empty"], "");
  EXPECT_TRUE(target_.files["tables/large"] == large);
}

TEST_F(FileCopyTest, FilesComeInTheOrderInWhichTheyWereWritten) {
  const auto written = [&](const char* name, int seconds) {
    scratch_.Write(name, "x");
    std::filesystem::last_write_time(scratch_.path() / name,
                                     std::filesystem::file_time_type::clock::now() + std::chrono::seconds(seconds));
  };
  written("1.manifest", 3);
  written("2.rows", 1);
  written("0.rows", 2);
  std::vector<std::string> copied;
  CopyOptions options;
  options.copied = [&](const CopiedFile& file) { copied.push_back(file.path); };
  ASSERT_TRUE(Copy(options).ok());
  EXPECT_THAT(copied, ElementsAre("2.rows", "0.rows", "1.manifest"));
}

TEST_F(FileCopyTest, OnlyWhatIsWantedIsCopied) {
  scratch_.Write("tables/a", "a");
  scratch_.Write("checkpoints/b", "b");
  scratch_.Write("c.attune-part", "left by a copy to there");
  CopyOptions options;
  options.wanted = [](const std::string& path) { return !path.starts_with("checkpoints/"); };
  const auto result = Copy(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->unwanted, 2U);
  EXPECT_THAT(target_.files, ElementsAre(Pair("tables/a", "a")));
}

TEST_F(FileCopyTest, WhatIsThereAlreadyIsLeft) {
  scratch_.Write("a", "same");
  scratch_.Write("b", "new");
  target_.files["a"] = "same";
  const auto result = Copy();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->received, 3U);
  ASSERT_EQ(result->files.size(), 2U);
  EXPECT_TRUE(result->files[0].was_there);
  EXPECT_FALSE(result->files[1].was_there);
}

TEST_F(FileCopyTest, WhatIsThereAndDiffersIsNotOverwritten) {
  struct Case {
    const char* name;
    std::string content;
  };
  for (const Case& c : {Case{"another size", "other"}, Case{"another content", "SAME"}}) {
    SCOPED_TRACE(c.name);
    scratch_.Write("a", "same");
    scratch_.Write("b", "new");
    target_.files = {{"a", c.content}};
    const auto result = Copy();
    ASSERT_EQ(result.status().code(), StatusCode::kAlreadyExists);
    EXPECT_THAT(std::string(Message(result.status())), HasSubstr("differs: a; it stays as it is"));
    EXPECT_THAT(target_.files, ElementsAre(Pair("a", c.content)));
    CopyOptions options;
    options.force = true;
    ASSERT_TRUE(Copy(options).ok());
    EXPECT_EQ(target_.files["a"], "same");
  }
}

TEST_F(FileCopyTest, AnInterruptedFileContinuesWithItsNextBlock) {
  const std::string large = std::string(kFileBlockBytes, '1') + std::string(kFileBlockBytes, '2') + "end";
  scratch_.Write("large", large);
  CopyOptions options;
  options.progress = [](const CopyProgress& progress) { return progress.done < kFileBlockBytes + 3 * kFilePageBytes; };
  EXPECT_EQ(Copy(options).status().code(), StatusCode::kCancelled);
  EXPECT_THAT(target_.files, ElementsAre(Key("large.attune-part")));
  const auto result = Copy();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(target_.files["large"] == large);
  EXPECT_THAT(target_.files, ElementsAre(Key("large")));
  EXPECT_EQ(result->received, kFileBlockBytes + 3);
}

TEST_F(FileCopyTest, OfAnInterruptedFileOnlyWhatAgreesIsKept) {
  scratch_.Write("a", "0123456789");
  for (const std::string& begun : {std::string("01234"), std::string("x123456789"), std::string("0123456789more")}) {
    SCOPED_TRACE(begun);
    target_.files = {{"a.attune-part", begun}};
    ASSERT_TRUE(Copy().ok());
    EXPECT_THAT(target_.files, ElementsAre(Pair("a", "0123456789")));
  }
}

TEST_F(FileCopyTest, AFileThatChangesWhileItIsReadIsCopiedAgain) {
  struct Case {
    const char* name;
    std::string later;
  };
  for (const Case& c :
       {Case{"it grows", "0123456789+"}, Case{"it shrinks", "012"}, Case{"its bytes change", "abcdefghij"}}) {
    SCOPED_TRACE(c.name);
    target_.files.clear();
    scratch_.Write("a", "0123456789");
    scratch_.Write("b", "b");
    bool done = false;
    before_ = [&](const std::string& request) {
      if (!request.starts_with("read/1/0/") || std::exchange(done, true)) return;
      std::filesystem::remove(scratch_.path() / "a");
      scratch_.Write("a", c.later);
    };
    const auto result = Copy();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(done);
    EXPECT_THAT(target_.files, ElementsAre(Pair("a", c.later), Pair("b", "b")));
    EXPECT_FALSE(result->files[0].was_there) << "this call has copied it";
  }
}

TEST_F(FileCopyTest, AFileThatGoesMeanwhileLeavesNothing) {
  scratch_.Write("a", std::string(kFilePageBytes + 1, 'a'));
  scratch_.Write("b", "b");
  before_ = [&](const std::string& request) {
    if (request == "read/1/0/1048576") std::filesystem::remove(scratch_.path() / "a");
  };
  const auto result = Copy();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(target_.files, ElementsAre(Pair("b", "b")));
}

TEST_F(FileCopyTest, BytesThatArriveSpoiledAreNoticed) {
  scratch_.Write("a", "0123456789");
  int spoiled = 0;
  spoil_ = [&](const std::string& request, std::string& answer) {
    if (request.starts_with("read/") && spoiled++ == 0) answer[3] = 'x';
  };
  ASSERT_TRUE(Copy().ok());
  EXPECT_EQ(target_.files["a"], "0123456789") << "it came again";
  target_.files.clear();
  spoil_ = [&](const std::string& request, std::string& answer) {
    if (request.starts_with("read/")) answer[3] = 'x';
  };
  const auto result = Copy();
  ASSERT_EQ(result.status().code(), StatusCode::kAborted);
  EXPECT_THAT(std::string(Message(result.status())), HasSubstr("'a' did not arrive as it is"));
  EXPECT_FALSE(target_.files.contains("a"));
  EXPECT_EQ(Requests("list/0"), 3) << "it is not tried for ever";
}

TEST_F(FileCopyTest, AFullDiskEndsItAndMoreRoomContinues) {
  scratch_.Write("a", std::string(100, 'a'));
  scratch_.Write("b", std::string(100, 'b'));
  target_.room = 150;
  const auto result = Copy();
  ASSERT_EQ(result.status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(target_.files.contains("a"));
  EXPECT_FALSE(target_.files.contains("b"));
  target_.room = 1000;
  const auto again = Copy();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->received, 100U);
  EXPECT_THAT(target_.files, UnorderedElementsAre(Key("a"), Key("b")));
}

TEST_F(FileCopyTest, AnEmptyDirectoryIsNoError) {
  const auto result = Copy();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->files.empty());
}

}  // namespace
}  // namespace attune::cli::file_copy_test
