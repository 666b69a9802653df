#include "cli/pull/shown_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/sha256.h"

namespace attune::cli::shown_files_test {
namespace {

using ::testing::HasSubstr;

// Answers requests from a table; "no such page" to all others.
ShownFiles Reader(std::map<std::string, std::string> pages) {
  return ShownFiles([pages = std::move(pages)](const std::string& request) -> StatusOr<std::string> {
    const auto page = pages.find(request);
    if (page == pages.end()) return Error(StatusCode::kNotFound, "no such page: " + request);
    return page->second;
  });
}

TEST(ShownFiles, AListComesInPages) {
  ShownFiles shown =
      Reader({{"list/0", "attune-files 1 4 3 1\n1 1 a\n2 1 b\n"}, {"list/2", "attune-files 1 4 3 1\n3 1 c\n"}});
  const auto listing = shown.List();
  ASSERT_TRUE(listing.ok()) << listing.status();
  ASSERT_EQ(listing->files.size(), 3U);
  EXPECT_EQ(listing->files[2].path, "c");
  EXPECT_EQ(listing->left_out, 1U);
}

TEST(ShownFiles, AListThatCannotBeIsNotFollowed) {
  struct Case {
    const char* name;
    std::map<std::string, std::string> pages;
    const char* want;
  };
  const Case cases[] = {
      {"it never ends",
       {{"list/0", "attune-files 1 4 3 0\n1 1 a\n"}, {"list/1", "attune-files 1 4 3 0\n"}},
       "never ends"},
      {"it is of another look",
       {{"list/0", "attune-files 1 4 2 0\n1 1 a\n"}, {"list/1", "attune-files 1 5 2 0\n1 1 b\n"}},
       "listed again"},
      {"a path comes twice", {{"list/0", "attune-files 1 4 2 0\n1 1 a\n1 1 a\n"}}, "out of order"},
      {"a page comes twice",
       {{"list/0", "attune-files 1 4 2 0\n1 1 a\n"}, {"list/1", "attune-files 1 4 2 0\n1 1 a\n"}},
       "out of order"},
      {"it has more than it says",
       {{"list/0", "attune-files 1 4 2 0\n1 1 a\n"}, {"list/1", "attune-files 1 4 2 0\n1 1 b\n1 1 c\n"}},
       "longer than it says"},
      {"a path escapes", {{"list/0", "attune-files 1 4 1 0\n1 1 ../.ssh/authorized_keys\n"}}, "does not stay below"},
      {"the token is wrong", {}, "no such page"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto listing = Reader(c.pages).List();
    ASSERT_FALSE(listing.ok());
    EXPECT_THAT(std::string(Message(listing.status())), HasSubstr(c.want));
  }
}

TEST(ShownFiles, APageHasTheLengthThatWasListed) {
  const std::string sum = Sha256Hex("x");
  ShownFiles shown = Reader({{"list/0", "attune-files 1 4 3 0\n5 1 a\n5 1 b\n5 1 c\n"},
                             {"read/4/0/0", "12345"},
                             {"read/4/0/5", ""},
                             {"read/4/1/0", "1234"},
                             {"read/4/2/0", "123456"},
                             {"sum/4/0/0", sum},
                             {"sum/4/1/0", "<html>"}});
  ASSERT_TRUE(shown.List().ok());
  EXPECT_EQ(shown.Read(0, 0).value_or("?"), "12345");
  EXPECT_EQ(shown.Read(1, 0).status().code(), StatusCode::kAborted) << "shorter";
  EXPECT_EQ(shown.Read(2, 0).status().code(), StatusCode::kAborted) << "longer";
  EXPECT_EQ(shown.Sum(0, 0).value_or("?"), sum);
  EXPECT_EQ(shown.Sum(1, 0).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace attune::cli::shown_files_test
