#include "base/files/file_pages.h"

#include <gtest/gtest.h>

#include "base/sha256.h"
#include "tests/scratch.h"

namespace attune::file_pages_test {
namespace {

class FilePagesTest : public ::testing::Test {
 protected:
  StatusCode CodeOf(std::string_view request) { return pages_.Answer(request).status().code(); }
  const SystemTime time_;
  const Scratch scratch_;
  FilePages pages_{scratch_.path(), time_};
};

TEST_F(FilePagesTest, ListsReadsAndSums) {
  const std::string large(kFilePageBytes + 10, 'l');
  scratch_.Write("large", large);
  scratch_.Write("small", "s");
  EXPECT_TRUE(pages_.Answer("ready").ok());
  const auto listing = ReadListingPage(pages_.Answer("list/0").value_or(""));
  ASSERT_TRUE(listing.ok()) << listing.status();
  ASSERT_EQ(listing->files.size(), 2U);
  EXPECT_EQ(pages_.Answer("read/1/0/0").value_or(""), large.substr(0, kFilePageBytes));
  EXPECT_EQ(pages_.Answer("read/1/0/1048576").value_or(""), std::string(10, 'l'));
  EXPECT_EQ(pages_.Answer("sum/1/0/0").value_or(""), Sha256Hex(large));
  EXPECT_EQ(pages_.Answer("sum/1/1/0").value_or(""), Sha256Hex("s"));
  const auto rest = ReadListingPage(pages_.Answer("list/1").value_or(""));
  ASSERT_TRUE(rest.ok()) << rest.status();
  ASSERT_EQ(rest->files.size(), 1U);
  EXPECT_EQ(rest->total, 2U);
}

TEST_F(FilePagesTest, ASumEndsWithItsBlock) {
  const std::string block(kFileBlockBytes, 'b');
  scratch_.Write("blocks", block + "rest");
  ASSERT_TRUE(pages_.Answer("list/0").ok());
  EXPECT_EQ(pages_.Answer("sum/1/0/0").value_or(""), Sha256Hex(block));
  EXPECT_EQ(pages_.Answer("sum/1/0/" + std::to_string(kFileBlockBytes)).value_or(""), Sha256Hex("rest"));
}

TEST_F(FilePagesTest, AnotherListingEndsTheOneBefore) {
  scratch_.Write("a", "1");
  ASSERT_TRUE(pages_.Answer("list/0").ok());
  ASSERT_TRUE(pages_.Answer("read/1/0/0").ok());
  ASSERT_TRUE(pages_.Answer("list/0").ok());
  EXPECT_EQ(CodeOf("read/1/0/0"), StatusCode::kAborted);
  EXPECT_TRUE(pages_.Answer("read/2/0/0").ok());
}

TEST_F(FilePagesTest, NothingElseIsAPage) {
  scratch_.Write("a", "1");
  ASSERT_TRUE(pages_.Answer("list/0").ok());
  for (const char* request :
       {"", "/", "a", "list", "list/", "list/x", "list/-1", "list/0/0", "read", "read/1/0", "read/1/0/0/0",
        "read/1/0/0/", "read/1/../0", "read/1/0/99999999999999999999", "ready/0", "sum/1/0", "READ/1/0/0"}) {
    EXPECT_EQ(CodeOf(request), StatusCode::kNotFound) << request;
  }
  EXPECT_EQ(CodeOf("read/1/1/0"), StatusCode::kOutOfRange);
  EXPECT_EQ(CodeOf("read/1/0/2"), StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace attune::file_pages_test
