#include "ps/runtime/control/open_commands.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace attune::ps::open_commands_test {
namespace {

TEST(OpenCommands, EachIsAnsweredOnceByItsNumber) {
  OpenCommands open;
  std::vector<std::string> answers;
  const auto note = [&](const char* name) {
    return [&answers, name](const CommandResult& result) { answers.push_back(name + (": " + result.text)); };
  };
  const CommandId first = open.Add(note("first")), second = open.Add(note("second"));
  EXPECT_NE(first, second);
  open.Answer({.id = second, .status = {}, .text = "b"});
  open.Answer({.id = first, .status = {}, .text = "a"});
  open.Answer({.id = first, .status = {}, .text = "again"});
  EXPECT_EQ(answers, (std::vector<std::string>{"second: b", "first: a"}));
}

TEST(OpenCommands, NumbersAreNotUsedAgainAndNobodyNeedsToListen) {
  OpenCommands open;
  const CommandId first = open.Add({});
  open.Answer({.id = first, .status = {}, .text = ""});
  EXPECT_NE(open.Add({}), first);
}

}  // namespace
}  // namespace attune::ps::open_commands_test
