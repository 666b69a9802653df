#include "cli/application.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

namespace attune::cli::application_test {
namespace {

using ::testing::HasSubstr;

int RunMain(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return Main(static_cast<int>(words.size()), pointers.data());
}

TEST(Application, AFullStandardOutputIsAnError) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"attune", "version", "--client"}, std::vector<std::string>{"attune", "--help"},
        std::vector<std::string>{"attune", "completion", "bash"}}) {
    std::fflush(stdout);
    const int saved = dup(STDOUT_FILENO);
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    ASSERT_GE(full, 0);
    dup2(full, STDOUT_FILENO);
    testing::internal::CaptureStderr();
    const int code = RunMain(words);
    const std::string errors = testing::internal::GetCapturedStderr();
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(full);
    std::clearerr(stdout);
    EXPECT_EQ(code, kExitFailed) << words[1];
    EXPECT_THAT(errors, HasSubstr("cannot write to standard output")) << words[1];
  }
}

}  // namespace
}  // namespace attune::cli::application_test
