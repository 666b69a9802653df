#include "base/os/file.h"
#include "tests/scratch.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace attune::file_test {
namespace {

class FileTest : public testing::Test {
 protected:
  const Scratch scratch_;
  const std::filesystem::path& directory_ = scratch_.path();
};

TEST_F(FileTest, WhatIsWrittenIsRead) {
  ASSERT_TRUE(WriteFileAtomically(directory_ / "a", "one").ok());
  ASSERT_TRUE(WriteFileAtomically(directory_ / "a", "two").ok());
  EXPECT_EQ(*ReadFile(directory_ / "a"), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1) << "no temporary file is left";
}

TEST_F(FileTest, MissingFileIsNotFoundAndNamesThePath) {
  const Status status = ReadFile(directory_ / "absent").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(Message(status).find("absent"), std::string_view::npos);
  EXPECT_NE(std::string(Message(ReadFile("absent/a").status()))
                .find("cannot open 'absent/a': No such file or directory, seen from " +
                      std::filesystem::current_path().string()),
            std::string::npos);
}

TEST_F(FileTest, FileAboveTheLimitIsRefused) {
  ASSERT_TRUE(WriteFileAtomically(directory_ / "a", "0123456789").ok());
  EXPECT_EQ(ReadFile(directory_ / "a", 9).status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(ReadFile(directory_ / "a", 10).ok());
}

}  // namespace
}  // namespace attune::file_test
