#include "operator/kube/credentials/token_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/os/file.h"

namespace attune::kube::token_source_test {
namespace {

using std::chrono::seconds;

class TokenFileTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(WriteFileAtomically(file_, "one\n").ok()); }
  void TearDown() override { std::filesystem::remove(file_); }
  const std::filesystem::path file_ =
      std::filesystem::path(::testing::TempDir()) / ("token-" + std::to_string(::getpid()));
  ManualTime time_;
};

TEST_F(TokenFileTest, FileIsReadAgainEveryMinute) {
  TokenSource tokens("", file_, time_);
  EXPECT_EQ(*tokens.Get(), "one");
  ASSERT_TRUE(WriteFileAtomically(file_, "two").ok());
  time_.Advance(seconds(59));
  EXPECT_EQ(*tokens.Get(), "one");
  time_.Advance(seconds(1));
  EXPECT_EQ(*tokens.Get(), "two");
}

TEST_F(TokenFileTest, RefusedTokenIsReadAgainAtOnce) {
  TokenSource tokens("", file_, time_);
  EXPECT_EQ(*tokens.Get(), "one");
  ASSERT_TRUE(WriteFileAtomically(file_, "two").ok());
  EXPECT_TRUE(tokens.Invalidate());
  EXPECT_EQ(*tokens.Get(), "two");
}

TEST_F(TokenFileTest, LastTokenOutlivesAMissingOrEmptyFile) {
  TokenSource tokens("", file_, time_);
  EXPECT_EQ(*tokens.Get(), "one");
  std::filesystem::remove(file_);
  tokens.Invalidate();
  EXPECT_EQ(*tokens.Get(), "one");
  ASSERT_TRUE(WriteFileAtomically(file_, " \n").ok());
  tokens.Invalidate();
  EXPECT_EQ(*tokens.Get(), "one");
}

TEST_F(TokenFileTest, MissingFromTheStartIsAnError) {
  TokenSource tokens("", file_.string() + "-absent", time_);
  EXPECT_EQ(tokens.Get().status().code(), StatusCode::kNotFound);
}

TEST(TokenSource, FixedTokensAreTrimmedAndChecked) {
  ManualTime time;
  EXPECT_EQ(*TokenSource(" abc\r\n", "", time).Get(), "abc");
  EXPECT_EQ(*TokenSource("", "", time).Get(), "");
  EXPECT_EQ(TokenSource("a\r\nX-Evil: 1", "", time).Get().status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(TokenSource("abc", "", time).Invalidate());
}

}  // namespace
}  // namespace attune::kube::token_source_test
