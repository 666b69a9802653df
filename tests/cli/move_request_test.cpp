#include "cli/requests/move_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.h"

namespace attune::cli::move_request_test {
namespace {

using ::testing::HasSubstr;

api::TrainingJob Job(const std::string& move_state = "", const char* ended = nullptr) {
  api::TrainingJob job;
  job.name = "a";
  if (!move_state.empty()) {
    job.status.move = api::MoveStatus{.state = move_state, .message = "a-worker-0 moves from node-1"};
  }
  if (ended != nullptr) job.status.conditions.push_back({.type = ended, .status = "True"});
  return job;
}

TEST(MoveRequest, WhatCannotBeIsSaidBeforeItIsAskedFor) {
  struct Case {
    const char* name;
    api::TrainingJob job;
    RequestedMove wanted;
    const char* want;  // "": it is asked for
  };
  const Case cases[] = {
      {"a worker", Job(), {"worker-1", ""}, ""},
      {"to a machine", Job(), {"a-server-0", "node-2.example"}, ""},
      {"after another one", Job(api::kMoved), {"worker-1", ""}, ""},
      {"no pod", Job(), {"", ""}, "write worker-1, or server-0"},
      {"more than a word", Job(), {"worker-1 to=x", ""}, "is no pod"},
      {"no machine", Job(), {"worker-1", "node 2"}, "is no name of a machine"},
      {"one moves", Job(api::kMoving), {"worker-1", ""}, "one pod moves at a time: a-worker-0 moves from node-1. Wait"},
      {"it has ended", Job("", api::kSucceeded), {"worker-1", ""}, "job a has ended"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Status status = CheckMove(c.job, c.wanted);
    EXPECT_EQ(status.ok(), std::string(c.want).empty());
    EXPECT_THAT(status.ok() ? "" : std::string(Message(status)), HasSubstr(c.want));
  }
  EXPECT_EQ(MoveText({"worker-1", "node-2"}, "7"), "worker-1 to=node-2 id=7");
  EXPECT_EQ(MoveText({"worker-1", ""}, "7"), "worker-1 id=7");
}

TEST(MoveRequest, IsReadFromTheCommandLine) {
  const ParsedArguments parsed = ParseArguments({"move", "a", "worker-1", "--to", "node-2"});
  ASSERT_TRUE(parsed.arguments);
  const auto& move = std::get<MoveArguments>(parsed.arguments->command);
  EXPECT_EQ(move.job, "a");
  EXPECT_EQ(move.pod, "worker-1");
  EXPECT_EQ(move.to, "node-2");
}

}  // namespace
}  // namespace attune::cli::move_request_test
