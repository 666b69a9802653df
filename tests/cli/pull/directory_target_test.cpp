#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "base/sha256.h"
#include "cli/pull/copy_target.h"
#include "tests/scratch.h"

namespace attune::cli::directory_target_test {
namespace {

using ::testing::HasSubstr;

class DirectoryTargetTest : public ::testing::Test {
 protected:
  DirectoryTargetTest() {
    auto target = OpenDirectoryTarget(scratch_.path() / "to/here");
    EXPECT_TRUE(target.ok()) << target.status();
    target_ = *std::move(target);
  }
  Status Write(const std::string& path, const std::string& content) {
    ASSIGN_OR_RETURN(const auto file, target_->Open(path, 0));
    RETURN_IF_ERROR(file->Append(content));
    return file->Finish();
  }
  const Scratch scratch_;
  std::unique_ptr<CopyTarget> target_;
};

TEST_F(DirectoryTargetTest, FilesAreMadeContinuedAndNamed) {
  ASSERT_TRUE(Write("tables/new/a.part", "0123456789").ok());
  EXPECT_EQ(target_->SizeOf("tables/new/a.part").value_or(std::nullopt), 10U);
  EXPECT_EQ(target_->Sum("tables/new/a.part", 2, 3).value_or("?"), Sha256Hex("234"));
  {
    const auto file = target_->Open("tables/new/a.part", 4);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE((*file)->Append("xyz").ok());
    ASSERT_TRUE((*file)->Finish().ok());
  }
  ASSERT_TRUE(target_->Rename("tables/new/a.part", "tables/new/a").ok());
  EXPECT_EQ(scratch_.Read("to/here/tables/new/a"), "0123xyz");
  EXPECT_EQ(target_->SizeOf("tables/new/a.part").value_or(1), std::nullopt);
  EXPECT_EQ(target_->SizeOf("absent/a").value_or(1), std::nullopt);
  ASSERT_TRUE(target_->Remove("tables/new/a").ok());
  ASSERT_TRUE(target_->Remove("tables/new/a").ok());
  ASSERT_TRUE(target_->Remove("absent/a").ok());
  EXPECT_EQ(scratch_.Read("to/here/tables/new/a"), "(no file)");
  EXPECT_EQ(target_->Sum("absent/a", 0, 1).status().code(), StatusCode::kUnavailable);
}

TEST_F(DirectoryTargetTest, NoLinkLeadsOutside) {
  scratch_.Write("outside/secret", "secret");
  std::filesystem::create_directory_symlink(scratch_.path() / "outside", scratch_.path() / "to/here/tables");
  std::filesystem::create_symlink(scratch_.path() / "outside/secret", scratch_.path() / "to/here/link");
  for (const char* path : {"tables/secret", "tables/new", "link"}) {
    SCOPED_TRACE(path);
    const Status status = Write(path, "written");
    ASSERT_EQ(status.code(), StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(Message(status)), HasSubstr("something else is in the way"));
    EXPECT_FALSE(target_->SizeOf(path).ok());
    EXPECT_FALSE(target_->Sum(path, 0, 1).ok());
  }
  EXPECT_EQ(scratch_.Read("outside/secret"), "secret");
  EXPECT_EQ(scratch_.Read("outside/new"), "(no file)");
}

TEST_F(DirectoryTargetTest, ADirectoryWhereAFileBelongsIsInTheWay) {
  scratch_.Write("to/here/a/b", "x");
  EXPECT_EQ(target_->SizeOf("a").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(target_->Open("a", 0).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(target_->Open("a/b/c", 0).status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(DirectoryTargetTest, AFileWhereTheDirectoryBelongsIsInTheWay) {
  scratch_.Write("file", "x");
  const auto target = OpenDirectoryTarget(scratch_.path() / "file");
  ASSERT_FALSE(target.ok());
  EXPECT_THAT(std::string(Message(target.status())), HasSubstr("file'"));
}

// A limit on the size of files fails as a full disk does.
TEST_F(DirectoryTargetTest, AFullDiskSaysWhatToDo) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = Write("a", std::string(2000, 'a'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(Message(status)), HasSubstr("make room and run the command again"));
}

}  // namespace
}  // namespace attune::cli::directory_target_test
