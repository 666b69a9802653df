#include "operator/local/containers/temporary_directory.h"
#include "tests/scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace attune::local::temporary_directory_test {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

class TemporaryDirectoryTest : public ::testing::Test {
 protected:
  std::vector<fs::path> Entries() const {
    std::vector<fs::path> entries;
    for (const auto& entry : fs::directory_iterator(root_)) entries.push_back(entry.path());
    return entries;
  }
  // A process that makes one, puts a file into it and ends as if it had been killed.
  void LeaveOne() {
    const pid_t child = fork();
    if (child == 0) {
      auto made = TemporaryDirectory::Make(root_);
      std::ofstream((*made)->path() / "socket") << "x";
      _exit(0);
    }
    int state = 0;
    ASSERT_EQ(waitpid(child, &state, 0), child);
  }
  const Scratch scratch_;
  const fs::path& root_ = scratch_.path();
};

TEST_F(TemporaryDirectoryTest, GoesWithItsOwner) {
  {
    const auto made = TemporaryDirectory::Make(root_);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(fs::status((*made)->path()).permissions(), fs::perms::owner_all);
    std::ofstream((*made)->path() / "socket") << "x";
  }
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(TemporaryDirectoryTest, WhatAKilledProcessLeftIsRemovedAndWhatIsUsedStays) {
  LeaveOne();
  LeaveOne();
  const auto used = TemporaryDirectory::Make(root_);
  ASSERT_EQ(Entries().size(), 3U);
  RemoveStaleTemporaryDirectories(root_);
  EXPECT_THAT(Entries(), ::testing::ElementsAre((*used)->path()));
}

TEST_F(TemporaryDirectoryTest, NothingElseIsTouched) {
  fs::create_directories(root_ / "attune-run-abcdef");  // without a lock: being made, or of somewhere else
  fs::create_directories(root_ / "attune-0");
  std::ofstream(root_ / "attune-run-file") << "x";
  fs::create_directories(root_ / "elsewhere");
  std::ofstream(root_ / "elsewhere" / "lock") << "";
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "attune-run-linked");
  const size_t before = Entries().size();
  RemoveStaleTemporaryDirectories(root_);
  RemoveStaleTemporaryDirectories(root_ / "absent");
  EXPECT_EQ(Entries().size(), before);
  EXPECT_TRUE(fs::exists(root_ / "elsewhere" / "lock"));
}

TEST_F(TemporaryDirectoryTest, SaysWhereItCannotBeMade) {
  const auto made = TemporaryDirectory::Make(root_ / "absent");
  EXPECT_EQ(made.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(Message(made.status())), ::testing::HasSubstr("/absent/attune-run-"));
}

}  // namespace
}  // namespace attune::local::temporary_directory_test
