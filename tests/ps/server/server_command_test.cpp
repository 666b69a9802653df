// What the command line and the environment of attune-server accept, and what they are refused for.
#include "ps/server/server_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "proto/contract.h"

namespace attune::ps::server_command_test {
namespace {

using testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

class ServerCommandTest : public testing::Test {
 protected:
  ServerCommandTest() {
    for (const char* name :
         {contract::kEnvJobUid, contract::kEnvIndex, contract::kEnvCoordinator, contract::kEnvModelDirectory}) {
      ::unsetenv(name);
    }
  }
  std::optional<int> Parse(std::vector<const char*> arguments, const Variables& variables) {
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    arguments.insert(arguments.begin(), "attune-server");
    testing::internal::CaptureStderr();
    const std::optional<int> code = command_.Parse(static_cast<int>(arguments.size()), arguments.data());
    errors_ = testing::internal::GetCapturedStderr();
    for (const auto& [name, value] : variables) ::unsetenv(name.c_str());
    return code;
  }

  ServerCommand command_;
  std::string errors_;
};

const Variables kServer0 = {{contract::kEnvJobUid, "u"}, {contract::kEnvIndex, "0"}};

TEST_F(ServerCommandTest, WhatCannotBeDoneIsRefusedWithWhatToDo) {
  struct Case {
    const char* name;
    std::vector<const char*> arguments;
    Variables variables;
    const char* error;
  };
  for (const Case& c : std::vector<Case>{
           {"no environment", {"--coordinator-here"}, {}, contract::kEnvJobUid},
           {"no coordinator to join", {}, kServer0, contract::kEnvCoordinator},
           {"a best checkpoint and no place for it",
            {"--coordinator-here", "--best-checkpoint", "recall"},
            kServer0,
            "--best-checkpoint=recall needs a place for checkpoints: name one with --checkpoints, or set "},
           {"a metric whose name is none",
            {"--coordinator-here", "--checkpoints", "/c", "--best-checkpoint", "a b"},
            kServer0,
            "--best-checkpoint=a b"},
           {"the coordinator in a server beyond those that the job begins with",
            {"--coordinator-here", "--servers", "1"},
            {{contract::kEnvJobUid, "u"}, {contract::kEnvIndex, "1"}},
            "does not fit --servers 1; indices count from 0"},
           {"the best and a number",
            {"--load", "/c", "--load-best", "--load-checkpoint", "3"},
            kServer0,
            "--load-best"},
           {"a direction of no metric", {"--best-maximize"}, kServer0, "--best-checkpoint"},
       }) {
    EXPECT_EQ(Parse(c.arguments, c.variables), 2) << c.name;
    EXPECT_THAT(errors_, HasSubstr(c.error)) << c.name;
  }
}

TEST_F(ServerCommandTest, TheBestCheckpointLiesWhereAllCheckpointsLie) {
  const std::vector<const char*> best = {"--coordinator-here", "--best-checkpoint", "recall", "--best-maximize"};
  Variables variables = kServer0;
  variables[contract::kEnvModelDirectory] = "/models";
  ASSERT_EQ(Parse(best, variables), std::nullopt) << errors_;
  const auto& rule = command_.options().coordinator_here->core.goal.best_checkpoint;
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->metric, "recall");
  EXPECT_TRUE(rule->maximize);
  EXPECT_EQ(rule->directory, "/models/checkpoints");
}

}  // namespace
}  // namespace attune::ps::server_command_test
