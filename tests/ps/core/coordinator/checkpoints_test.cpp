#include "ps/core/coordinator/checkpoints.h"

#include <gtest/gtest.h>

#include "tests/ps/core/coordinator/coordinator_parts.h"

namespace attune::ps::checkpoints_test {
namespace {

using Outcome = Checkpoints::Outcome;

class CheckpointsTest : public CoordinatorParts {
 protected:
  using CoordinatorParts::CoordinatorParts;
  static constexpr CutId kCut{(uint64_t{1} << 32) + 1};

  void Order() { checkpoints_.OnCommand(CommandId(1), {.directory = "/c"}, kNever, out_); }
  Outcome Begin(uint64_t number = 7) {
    return checkpoints_.On(CheckpointBegun{.cut = kCut, .status = OkStatus(), .checkpoint = number}, out_);
  }
  // As far as all nodes with rows have copied them.
  void Mark() {
    Order();
    ASSERT_EQ(checkpoints_.Continue(out_), Outcome::kNothing);
    ASSERT_TRUE(out_.begin_checkpoint);
    ASSERT_EQ(Begin(), Outcome::kNothing);
    pace_.Report(At(kWorker));
    At(kWorker).last.promised = pace_.state().hold;
    pace_.Report(At(kWorker));
    ASSERT_EQ(checkpoints_.Continue(out_), Outcome::kNothing);
    ASSERT_TRUE(checkpoints_.Marking());
    for (const NodeId server : {kServer0, kServer1}) {
      EXPECT_NE(Sent<ps::Mark>(server), nullptr);
      checkpoints_.OnMessage(At(server), MarkDone{.cut = kCut}, out_);
    }
  }
  Outcome Writes(NodeId server, const Status& status = OkStatus()) {
    return checkpoints_.OnMessage(At(server), SnapshotDone{.cut = kCut, .status = status, .files = {}}, out_);
  }
};

TEST_F(CheckpointsTest, WhatIsAskedForIsCutWrittenAndCommitted) {
  Mark();
  EXPECT_EQ(checkpoints_.Continue(out_), Outcome::kContinues) << "all have copied";
  EXPECT_EQ(checkpoints_.marked(), kCut);
  EXPECT_NE(Sent<WriteSnapshot>(kServer1), nullptr);
  EXPECT_EQ(Writes(kServer0), Outcome::kPartIn);
  EXPECT_FALSE(checkpoints_.HasOpenPart(kServer0));
  EXPECT_TRUE(checkpoints_.HasOpenPart(kServer1));
  EXPECT_EQ(Writes(kServer1), Outcome::kPartIn);
  ASSERT_TRUE(out_.commit_checkpoint);
  EXPECT_EQ(checkpoints_.On(CheckpointCommitted{.cut = kCut, .status = OkStatus()}, out_), Outcome::kEnded);
  ASSERT_EQ(out_.command_results.size(), 1U);
  EXPECT_TRUE(out_.command_results[0].status.ok());
  EXPECT_EQ(recoveries_.newest().checkpoint, 7U) << "rows without a copy come from it from now on";
  EXPECT_NE(Sent<NewestCheckpoint>(kServer0), nullptr);
  EXPECT_EQ(Sent<NewestCheckpoint>(kWorker), nullptr);
}

TEST_F(CheckpointsTest, APartThatCannotBeWrittenEndsIt) {
  Mark();
  (void)checkpoints_.Continue(out_);
  EXPECT_EQ(Writes(kServer1, Error(StatusCode::kResourceExhausted, "the disk is full")), Outcome::kEnded);
  ASSERT_EQ(out_.command_results.size(), 1U);
  EXPECT_NE(std::string(out_.command_results[0].status.message()).find("server 1"), std::string::npos);
  EXPECT_NE(Sent<CutEnded>(kServer0), nullptr);
  EXPECT_EQ(recoveries_.newest().checkpoint, 0U);
  out_.Clear();
  EXPECT_EQ(Writes(kServer0), Outcome::kNothing);
  EXPECT_NE(Sent<CutEnded>(kServer0), nullptr) << "a late part is forgotten";
}

TEST_F(CheckpointsTest, WhatAServerThatIsLostWasToWriteEndsIt) {
  Mark();
  checkpoints_.NoteGone(kServer1, Error(StatusCode::kAborted, "lost"));
  EXPECT_EQ(checkpoints_.Continue(out_), Outcome::kEnded);
}

TEST_F(CheckpointsTest, NothingBeginsWhileRowsCannotBeCopied) {
  At(kServer1).rows->shards_not_ready = 1;
  Order();
  EXPECT_EQ(checkpoints_.Continue(out_), Outcome::kNothing);
  EXPECT_FALSE(out_.begin_checkpoint);
}

TEST_F(CheckpointsTest, AProgramThatSavesIsAnsweredWithoutAnyWaitForSteps) {
  Request(checkpoints_, SaveTables{.directory = "/s"});
  (void)checkpoints_.Continue(out_);
  ASSERT_EQ(Begin(), Outcome::kNothing);
  EXPECT_EQ(pace_.state().hold, 0U) << "no worker is held";
  (void)checkpoints_.Continue(out_);
  for (const NodeId server : {kServer0, kServer1}) checkpoints_.OnMessage(At(server), MarkDone{.cut = kCut}, out_);
  (void)checkpoints_.Continue(out_);
  for (const NodeId server : {kServer0, kServer1}) (void)Writes(server);
  EXPECT_EQ(checkpoints_.On(CheckpointCommitted{.cut = kCut, .status = OkStatus()}, out_), Outcome::kEnded);
  EXPECT_NE(Sent<Done>(kWorker), nullptr);
  EXPECT_EQ(recoveries_.newest().checkpoint, 0U) << "it says nothing about data";
}

TEST_F(CheckpointsTest, ADirectoryIsNeeded) {
  checkpoints_.OnCommand(CommandId(1), {.directory = ""}, kNever, out_);
  ASSERT_EQ(out_.command_results.size(), 1U);
  EXPECT_EQ(out_.command_results[0].status.code(), StatusCode::kInvalidArgument);
  Request(checkpoints_, SaveTables{.directory = ""});
  EXPECT_NE(Sent<Refused>(kWorker), nullptr);
}

class BestCheckpointsTest : public CheckpointsTest {
 protected:
  static CoordinatorOptions WithRule() {
    CoordinatorOptions options = Alone();
    options.goal.best_checkpoint = BestCheckpointRule{.metric = "loss", .directory = "/best"};
    return options;
  }
  BestCheckpointsTest() : CheckpointsTest(WithRule()) {}
  void Report(double value) {
    const RequestHeader header = NextHeader();
    ASSERT_TRUE(Replies::TakeUp(At(kWorker), header.request, out_));
    ASSERT_TRUE(goals_.OnReport(At(kWorker), {.header = header, .name = "loss", .value = value}, {}, out_));
  }
};

TEST_F(BestCheckpointsTest, ABetterValueIsAReasonAndItsEndIsNamed) {
  EXPECT_EQ(checkpoints_.Continue(out_), Outcome::kNothing);
  EXPECT_FALSE(checkpoints_.HasBest());
  Report(0.5);
  EXPECT_EQ(checkpoints_.Continue(out_), Outcome::kNothing);
  EXPECT_TRUE(checkpoints_.HasBest());
  ASSERT_TRUE(out_.begin_checkpoint);
  EXPECT_EQ(out_.begin_checkpoint->directory, "/best");
  const CheckpointBegun failed{.cut = kCut, .status = Error(StatusCode::kUnavailable, "no such directory")};
  EXPECT_EQ(checkpoints_.On(failed, out_), Outcome::kBestEnded);
  EXPECT_TRUE(HasEvent("the best one so far stays"));
  EXPECT_FALSE(checkpoints_.HasBest());
}

}  // namespace
}  // namespace attune::ps::checkpoints_test
