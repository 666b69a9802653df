#include "cli/requests/stopping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::cli::stopping_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Stopping, SaysWhatIsDoneFirstAndWhatCanBeDoneNow) {
  EXPECT_EQ(StoppingText({.run = "fast", .checkpoint = true, .terminal = true}),
            "stopping: writing a checkpoint first, for at most 4 s\n"
            "  Ctrl-C again                          skips it and ends the processes at once\n"
            "  attune resume fast                    continues from it afterwards\n");
  EXPECT_EQ(StoppingText({.run = "fast", .terminal = true}),
            "stopping: there are no trained rows to keep\n"
            "  Ctrl-C again                          ends the processes without waiting for them\n");
}

TEST(Stopping, WithoutATerminalThereIsNoCtrlC) {
  for (const bool checkpoint : {false, true})
    EXPECT_THAT(StoppingText({.run = "fast", .checkpoint = checkpoint}), Not(HasSubstr("Ctrl-C")));
}

TEST(Stopping, AtTheEndItSaysHowToContinueWhereThatIsPossible) {
  RunRecord record;
  record.name = "fast";
  record.directory = "/work/attune-runs/fast";
  record.jobs.resize(2);
  EXPECT_EQ(StoppedText(record),
            "stopped; no process is left, logs are in /work/attune-runs/fast\n"
            "  attune describe fast                  what it did\n");
  EXPECT_EQ(StoppedJson(record), R"({"directory":"/work/attune-runs/fast","run":"fast","type":"stopped"})");
  record.jobs[1].checkpoint = "/c";
  record.jobs[1].checkpoint_number = 3;
  record.jobs[1].checkpoint_step = 412;
  EXPECT_EQ(StoppedText(record),
            "stopped; no process is left, logs are in /work/attune-runs/fast\n"
            "  attune resume fast                    continues from the checkpoint\n"
            "  attune resume --detach fast           the same in the background\n"
            "  attune describe fast                  what it did\n");
  EXPECT_THAT(StoppedJson(record), HasSubstr(R"("checkpoint":{"directory":"/c","number":3,"step":412})"));
}

}  // namespace
}  // namespace attune::cli::stopping_test
