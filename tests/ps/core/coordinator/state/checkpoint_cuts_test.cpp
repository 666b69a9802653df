#include "ps/core/coordinator/state/checkpoint_cuts.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace attune::ps::checkpoint_cuts_test {
namespace {

using std::chrono::seconds;
constexpr NodeId kAnna{1}, kBert{2}, kWorker{9};
constexpr CommandId kCommand{7};
constexpr CutId kFirst{(uint64_t{3} << 32) + 1}, kSecond{(uint64_t{3} << 32) + 2};
constexpr MonotonicTime kStart{};

class CheckpointCutsTest : public testing::Test {
 protected:
  CheckpointCutsTest() {
    clocks_.Add(kWorker);
    clocks_.SetCounted(kWorker, true);
  }

  static CheckpointRequest Asked() {
    return {.directory = "/checkpoints", .deadline = kStart + seconds(60), .command = kCommand};
  }
  Status Check(MonotonicTime now = kStart, bool is_better = true) {
    return cuts_.CheckFirst(now, clocks_, is_better, [](NodeId id) { return "node " + std::to_string(id.value()); });
  }
  void BeginAndHold() {
    (void)cuts_.Begin(kStart);
    cuts_.Hold(4, 2, clocks_);
  }
  // Anna and Bert are to copy their rows.
  void MarkBoth() {
    BeginAndHold();
    cuts_.Mark({kAnna, kBert}, {.synchronization = "bsp", .clock = clocks_.hold_at()}, kStart);
  }
  void WriteBoth() {
    MarkBoth();
    cuts_.OnMarked(kFirst, kAnna);
    cuts_.OnMarked(kFirst, kBert);
    cuts_.Write(clocks_);
  }
  static SnapshotDone Done(CutId cut, const std::string& file) {
    return {.cut = cut, .status = OkStatus(), .files = {{.name = file}}};
  }

  ClockBoard clocks_{3, SyncMode::Bsp()};
  CheckpointCuts cuts_{3, seconds(30)};
};

TEST_F(CheckpointCutsTest, WorkersStandBeforeRowsAreCopiedAndContinueBeforeTheyAreWritten) {
  cuts_.Add(Asked());
  ASSERT_TRUE(cuts_.CanBegin(clocks_));
  EXPECT_EQ(cuts_.Begin(kStart).cut, kFirst);
  ASSERT_TRUE(cuts_.IsBeginning(kFirst));
  cuts_.Hold(4, 2, clocks_);
  EXPECT_TRUE(clocks_.holding());
  EXPECT_FALSE(cuts_.CanMark(clocks_)) << "the worker has not stopped";
  clocks_.Report(kWorker, clocks_.hold_at(), 0, clocks_.state().hold);
  ASSERT_TRUE(cuts_.CanMark(clocks_));
  cuts_.Mark({kAnna, kBert}, {.clock = clocks_.hold_at()}, kStart);
  EXPECT_TRUE(cuts_.Marking());
  cuts_.OnMarked(kFirst, kAnna);
  EXPECT_FALSE(cuts_.AllMarked());
  EXPECT_TRUE(clocks_.holding());
  cuts_.OnMarked(kFirst, kBert);
  ASSERT_TRUE(cuts_.AllMarked());
  EXPECT_EQ(cuts_.marked(), CutId());
  cuts_.Write(clocks_);
  EXPECT_EQ(cuts_.marked(), kFirst);
  EXPECT_FALSE(clocks_.holding());
}

TEST_F(CheckpointCutsTest, WhatAProgramSavesHoldsNoWorker) {
  cuts_.Add({.directory = "/model", .deadline = kNever, .asker = kWorker, .request = RequestId(5)});
  BeginAndHold();
  EXPECT_FALSE(clocks_.holding());
  EXPECT_TRUE(cuts_.CanMark(clocks_));
  EXPECT_EQ(Describe(cuts_.End(true, clocks_), OkStatus()), "checkpoint 4");
  EXPECT_EQ(cuts_.completed(), 0U) << "it says nothing about data";
}

TEST_F(CheckpointCutsTest, ItIsCommittedOnceWhenAllHaveWritten) {
  cuts_.Add(Asked());
  WriteBoth();
  EXPECT_EQ(cuts_.OnWritten(kAnna, Done(kFirst, "a")), CheckpointCuts::Written::kTaken);
  EXPECT_EQ(cuts_.OnWritten(kAnna, Done(kFirst, "again")), CheckpointCuts::Written::kKnown);
  EXPECT_EQ(cuts_.OnWritten(kWorker, Done(kFirst, "stranger")), CheckpointCuts::Written::kKnown);
  EXPECT_EQ(cuts_.OnWritten(kBert, Done(kSecond, "other")), CheckpointCuts::Written::kEnded);
  EXPECT_FALSE(cuts_.Commit());
  EXPECT_EQ(cuts_.OnWritten(kBert, {.cut = kFirst, .status = Error(StatusCode::kUnavailable, "disk full")}),
            CheckpointCuts::Written::kFailed);
  EXPECT_FALSE(cuts_.Commit());
  EXPECT_EQ(cuts_.OnWritten(kBert, Done(kFirst, "b")), CheckpointCuts::Written::kTaken);
  const auto commit = cuts_.Commit();
  ASSERT_TRUE(commit);
  EXPECT_EQ(commit->checkpoint, 4U);
  EXPECT_EQ(commit->base, 2U);
  ASSERT_EQ(commit->files.size(), 2U);
  EXPECT_EQ(commit->files[1].name, "b");
  EXPECT_FALSE(cuts_.Commit());
  const uint64_t clock = cuts_.first().record.clock;
  EXPECT_EQ(Describe(cuts_.End(true, clocks_), OkStatus()), "checkpoint 4 at step " + std::to_string(clock) + " (bsp)");
  EXPECT_EQ(cuts_.completed(), 1U);
  EXPECT_EQ(cuts_.last_clock(), clock);
}

TEST_F(CheckpointCutsTest, ANodeThatIsLostTakesItsPartAlongAndOneThatHasWrittenMayLeave) {
  for (const bool lost : {false, true}) {
    cuts_.Add(Asked());
    WriteBoth();
    const CutId cut = cuts_.first().id;
    (void)cuts_.OnWritten(kAnna, Done(cut, "a"));
    cuts_.NoteGone(kAnna, lost ? Error(StatusCode::kAborted, "lost") : OkStatus());
    EXPECT_EQ(Check().ok(), !lost);
    (void)cuts_.End(false, clocks_);
  }
  cuts_.Add(Asked());
  MarkBoth();
  cuts_.NoteGone(kBert, OkStatus());
  EXPECT_EQ(Check().code(), StatusCode::kAborted) << "it had not written";
}

TEST_F(CheckpointCutsTest, OnceTheShellCommitsALossChangesNothing) {
  cuts_.Add(Asked());
  WriteBoth();
  (void)cuts_.OnWritten(kAnna, Done(kFirst, "a"));
  (void)cuts_.OnWritten(kBert, Done(kFirst, "b"));
  ASSERT_TRUE(cuts_.Commit());
  cuts_.NoteGone(kAnna, Error(StatusCode::kAborted, "lost"));
  EXPECT_TRUE(Check(kStart + seconds(61)).ok()) << "nor does its deadline";
}

TEST_F(CheckpointCutsTest, AMemberThatMayOwnRowsFromNowOnCopiesToo) {
  cuts_.Add(Asked());
  cuts_.TakeIn(kBert);
  EXPECT_FALSE(cuts_.HasOpenPart(kBert)) << "no rows are being copied";
  BeginAndHold();
  cuts_.Mark({kAnna}, {}, kStart);
  cuts_.TakeIn(kBert);
  cuts_.OnMarked(kFirst, kAnna);
  EXPECT_FALSE(cuts_.AllMarked());
  const auto order = cuts_.OrderFor(kBert);
  ASSERT_TRUE(order);
  EXPECT_EQ(std::get<Mark>(*order).directory, "/checkpoints");
  cuts_.OnMarked(kFirst, kBert);
  cuts_.Write(clocks_);
  EXPECT_TRUE(std::holds_alternative<WriteSnapshot>(cuts_.OrderFor(kBert).value()));
  EXPECT_FALSE(cuts_.OrderFor(kWorker));
}

TEST_F(CheckpointCutsTest, ANodeThatDoesNotCopyInTimeEndsItAndTimeThatStoodStillDoesNotCount) {
  cuts_.Add(Asked());
  MarkBoth();
  cuts_.OnMarked(kFirst, kAnna);
  cuts_.SkipPause(seconds(20));
  EXPECT_TRUE(Check(kStart + seconds(49)).ok());
  EXPECT_EQ(attune::Message(Check(kStart + seconds(50))), "node 2 has not copied its rows");
}

TEST_F(CheckpointCutsTest, AHoldThatHadToBeRaisedEndsTheCut) {
  cuts_.Add(Asked());
  MarkBoth();
  EXPECT_TRUE(Check().ok());
  clocks_.Report(kWorker, 0, clocks_.hold_at() + 1, 0);  // it had passed the hold before it heard of it
  EXPECT_EQ(Check().code(), StatusCode::kAborted);
  (void)cuts_.End(false, clocks_);
  EXPECT_FALSE(clocks_.holding()) << "workers continue";
}

TEST_F(CheckpointCutsTest, WhatIsNoLongerTheBestIsNotCopied) {
  cuts_.Add({.directory = "/best", .deadline = kNever, .best = true});
  EXPECT_TRUE(cuts_.HasBest());
  EXPECT_EQ(Check(kStart, false).code(), StatusCode::kAborted);
  MarkBoth();
  EXPECT_TRUE(Check(kStart, false).ok()) << "its rows are copied";
}

TEST_F(CheckpointCutsTest, OthersWaitAndAreAbandonedWithTheJob) {
  cuts_.Add(Asked());
  cuts_.Add({.directory = "/other", .deadline = kStart + seconds(60), .command = CommandId(8)});
  EXPECT_TRUE(cuts_.IsFirst(kFirst));
  (void)cuts_.End(false, clocks_);
  EXPECT_TRUE(cuts_.IsFirst(kSecond));
  EXPECT_EQ(cuts_.AbandonAll(), std::vector<CommandId>{CommandId(8)});
  EXPECT_TRUE(cuts_.empty());
}

}  // namespace
}  // namespace attune::ps::checkpoint_cuts_test
