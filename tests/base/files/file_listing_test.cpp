#include "base/files/file_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::file_listing_test {
namespace {

using ::testing::HasSubstr;

TEST(FileListing, IsReadAsItWasWritten) {
  FileListing written{.number = 3, .total = 2, .left_out = 1, .files = {}};
  written.files = {{"a model/with spaces", 5, -7}, {"tables/00000001.input.0.rows", uint64_t{1} << 40, 1'700'000'000}};
  const auto read = ReadListingPage(WriteListingPage(written, 0));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->number, 3U);
  EXPECT_EQ(read->total, 2U);
  EXPECT_EQ(read->left_out, 1U);
  ASSERT_EQ(read->files.size(), 2U);
  EXPECT_EQ(read->files[0].path, "a model/with spaces");
  EXPECT_EQ(read->files[0].written_at, -7);
  EXPECT_EQ(read->files[1].size, uint64_t{1} << 40);
}

TEST(FileListing, ALongOneComesInPages) {
  FileListing written;
  const std::string long_name(900, 'x');
  for (int i = 0; i < 2000; ++i) written.files.push_back({long_name + std::to_string(i), 1, 1});
  size_t read = 0, pages = 0;
  while (read < written.files.size()) {
    const std::string text = WriteListingPage(written, read);
    EXPECT_LE(text.size(), kListingPageBytes + 1100);
    const auto page = ReadListingPage(text);
    ASSERT_TRUE(page.ok()) << page.status();
    ASSERT_FALSE(page->files.empty());
    EXPECT_EQ(page->files.front().path, written.files[read].path);
    read += page->files.size();
    ++pages;
  }
  EXPECT_EQ(pages, 4U);
}

TEST(FileListing, WhatIsNoneIsRefused) {
  const std::string head = "attune-files 1 7 2 0\n";
  struct Case {
    const char* name;
    std::string text, want;
  };
  const Case cases[] = {
      {"nothing", "", "begins otherwise"},
      {"another program's page", "<html>", "begins otherwise"},
      {"of a later release", "attune-files 2 7 2 0\n", "begins otherwise"},
      {"too few numbers", "attune-files 1 7 2\n", "first line"},
      {"a number too many", "attune-files 1 7 2 0 9\n", "first line"},
      {"a negative number", "attune-files 1 7 -2 0\n", "first line"},
      {"more files than anyone lists", "attune-files 1 7 100001 0\n", "100001 files"},
      {"a line without a path", head + "5 5\n", "without a name"},
      {"a size that is none", head + "x 5 a\n", "another form"},
      {"a size that is negative", head + "-1 5 a\n", "another form"},
      {"a size beyond all disks", head + "9007199254740993 5 a\n", "bytes"},
      {"more lines than it says", head + "1 1 a\n1 1 b\n1 1 c\n", "more lines"},
      {"a path that leads out", head + "1 1 a/../../b\n", "does not stay below"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto page = ReadListingPage(c.text);
    ASSERT_FALSE(page.ok());
    EXPECT_THAT(std::string(Message(page.status())), HasSubstr(c.want));
  }
}

TEST(FileListing, PathsStayBelowTheirDirectoryAndAreSafeToShow) {
  for (const char* path : {"a", "a/b", "..a", "a..", ".hidden", "a b", "\xc3\xa4", "tables/00000001.x%2Fy.0.rows"})
    EXPECT_EQ(ProblemOfFilePath(path), "") << path;
  std::string deep;
  for (int i = 0; i < kFileDepthMax; ++i) deep += "d/";
  for (const std::string& path :
       {std::string(), std::string("/etc/passwd"), std::string(".."), std::string("a/../b"), std::string("a//b"),
        std::string("a/"), std::string("./a"), std::string("a\nb"), std::string("a\x1b[2J"), std::string("\xc2\x9b[2J"),
        std::string("a\0b", 3), std::string("\x7f"), std::string(kFilePathBytesMax + 1, 'a'), deep + "f"}) {
    EXPECT_NE(ProblemOfFilePath(path), "") << path;
  }
}

}  // namespace
}  // namespace attune::file_listing_test
