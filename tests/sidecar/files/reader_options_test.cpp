#include "sidecar/files/reader_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::sidecar::reader_options_test {
namespace {

using ::testing::HasSubstr;

const std::string kSum(64, 'a');

TEST(ReaderOptions, AreReadFromTheCommandLine) {
  const auto options =
      ReaderOptions::Parse({"--directory", "/m", "--port", "7413", "--token-sha256", kSum, "--idle-seconds", "300"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->directory, "/m");
  EXPECT_EQ(options->port, 7413);
  EXPECT_EQ(options->token_sha256, kSum);
  EXPECT_EQ(options->idle, std::chrono::seconds(300));
}

TEST(ReaderOptions, WhatIsWrongIsSaidOfItsOption) {
  struct Case {
    std::vector<std::string> arguments;
    const char* want;
  };
  const std::vector<std::string> good = {"--directory", "/m", "--port", "7413", "--token-sha256", kSum};
  const auto and_then = [&](std::vector<std::string> more) {
    more.insert(more.begin(), good.begin(), good.end());
    return more;
  };
  const Case cases[] = {
      {{}, "--directory: it is missing"},
      {{"--directory", "/m"}, "--port: it is missing"},
      {{"--directory", "/m", "--port", "1"}, "--token-sha256: it is missing"},
      {good, "--idle-seconds: it is missing"},
      {{"--directory"}, "no value follows"},
      {{"--port", "65536"}, "--port: \"65536\""},
      {{"--token-sha256", "secret"}, "not a SHA-256"},
      {and_then({"--idle-seconds", "0"}), "--idle-seconds: \"0\""},
      {and_then({"--write", "1"}), "--write: there is no such option"},
  };
  for (const Case& c : cases) {
    const auto options = ReaderOptions::Parse(c.arguments);
    ASSERT_FALSE(options.ok()) << c.want;
    EXPECT_THAT(std::string(Message(options.status())), HasSubstr(c.want));
  }
}

}  // namespace
}  // namespace attune::sidecar::reader_options_test
