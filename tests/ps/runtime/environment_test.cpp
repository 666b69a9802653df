#include "ps/runtime/process/environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/os/file.h"
#include "proto/contract.h"
#include "ps/transport/security/job_secret.h"

namespace attune::ps::environment_test {
namespace {

TEST(Environment, AProcessOfAnotherAttemptHasAnotherSecret) {
  const std::string file = testing::TempDir() + "attune-token-" + std::to_string(getpid());
  ASSERT_TRUE(WriteFileAtomically(file, "a token of the user's making\n").ok());
  const auto token = [&](std::optional<std::string> attempt) {
    std::map<std::string, std::string> variables{{contract::kEnvJobTokenFile, file}};
    if (attempt) variables[contract::kEnvAttempt] = *attempt;
    Environment environment([=](const char* name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
    return environment.JobToken();
  };
  EXPECT_EQ(token(std::nullopt), "a token of the user's making");
  EXPECT_EQ(token("0"), token(std::nullopt)) << "the first attempt is one of an operator that knows no attempts";
  EXPECT_NE(token("1"), token("0"));
  EXPECT_NE(token("1"), token("2"));
  EXPECT_TRUE(JobSecret::Create("uid", token("2")).ok());
  std::filesystem::remove(file);
}

TEST(Environment, AJobWithoutATokenHasNoneInLaterAttemptsEither) {
  Environment environment([](const char* name) -> std::optional<std::string> {
    return std::string(name) == contract::kEnvAttempt ? std::optional<std::string>("3") : std::nullopt;
  });
  EXPECT_EQ(environment.JobToken(), "");
}

}  // namespace
}  // namespace attune::ps::environment_test
