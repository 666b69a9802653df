#include "ps/core/coordinator/pace.h"

#include <gtest/gtest.h>

#include "tests/ps/core/coordinator/coordinator_parts.h"

namespace attune::ps::pace_test {
namespace {

class PaceTest : public CoordinatorParts {
 protected:
  static constexpr NodeId kOther{4};

  static CoordinatorOptions Bounded() {
    CoordinatorOptions options = Alone();
    options.synchronization = SyncMode::Bsp();
    return options;
  }
  PaceTest() : CoordinatorParts(Bounded()) {
    admissions_.OnJoin(To(kOther), JoinOf(Role::kWorker, 1), out_);
    for (const NodeId worker : {kWorker, kOther}) pace_.SetCounted(worker, true);
    pace_.SendChanges(out_);
    out_.Clear();
  }
  void Says(NodeId worker, uint64_t clock, uint64_t begun, uint64_t promised = 0) {
    Heartbeat& last = At(worker).last;
    last.clock = clock;
    last.begun = begun;
    last.promised = promised;
    pace_.Report(At(worker));
  }
  static SyncMode Mode(const std::string& text) { return ParseSyncMode(text).value(); }
};

TEST_F(PaceTest, WorkersHearOfAFloorThatRises) {
  Says(kWorker, 1, 1);
  pace_.SendChanges(out_);
  EXPECT_TRUE(out_.send.empty()) << "the other one holds it";
  Says(kOther, 1, 1);
  pace_.SendChanges(out_);
  ASSERT_NE(Sent<SyncUpdate>(kWorker), nullptr);
  EXPECT_EQ(Sent<SyncUpdate>(kWorker)->sync.floor, 1U);
  EXPECT_EQ(Sent<SyncUpdate>(kServer0), nullptr);
  out_.Clear();
  pace_.SendChanges(out_);
  EXPECT_TRUE(out_.send.empty());
}

TEST_F(PaceTest, AnnouncementsAreIgnoredWhenItIsAskedForAndInTurnsWhileTheyAreTried) {
  const auto report = [this](Duration time, bool announces) {
    for (const MonotonicTime end = job_.now() + time; job_.now() < end;) {
      Now(job_.now().time_since_epoch() + std::chrono::milliseconds(500));
      for (const NodeId worker : {kWorker, kOther}) {
        At(worker).last.announces = announces;
        At(worker).last.steps += 100;
        pace_.Report(At(worker));
      }
    }
  };
  const auto progress = [this] {
    JobProgress filled;
    pace_.Fill(filled);
    return filled.announcements;
  };
  const auto ask = [this](RowManagement management) {
    pace_.OnCommand(CommandId(1), SetRowManagement{management}, MonotonicTime{}, out_);
  };
  EXPECT_FALSE(pace_.announcements_ignored());
  ask(RowManagement::kStatic);
  ASSERT_EQ(out_.command_results.size(), 1U);
  EXPECT_TRUE(out_.command_results[0].status.ok());
  EXPECT_TRUE(pace_.announcements_ignored());
  EXPECT_EQ(progress().management, RowManagement::kStatic);
  ask(RowManagement::kAlways);
  report(std::chrono::minutes(5), true);
  EXPECT_FALSE(pace_.announcements_ignored());
  EXPECT_FALSE(progress().speedup) << "nothing is tried";
  ask(RowManagement::kAdaptive);
  report(std::chrono::seconds(10), true);
  EXPECT_TRUE(progress().on_trial);
  report(std::chrono::minutes(1), true);
  ASSERT_TRUE(progress().speedup);
  EXPECT_NEAR(*progress().speedup, 1, 0.01);
  EXPECT_TRUE(pace_.announcements_ignored()) << "they made no difference";
}

TEST_F(PaceTest, WhatWasAskedForAnnouncedRowsOutlivesTheCoordinator) {
  pace_.OnCommand(CommandId(1), SetRowManagement{RowManagement::kStatic}, MonotonicTime{}, out_);
  CoordinatorRecord record;
  pace_.Fill(record);
  Pace next(job_);
  EXPECT_FALSE(next.announcements_ignored());
  next.Restore(record);
  EXPECT_TRUE(next.announcements_ignored());
}

TEST_F(PaceTest, AWorkerThatOthersWaitForIsNamedOnceAStep) {
  Says(kWorker, 1, 0);
  pace_.WatchFloor(out_);
  Now(std::chrono::seconds(20));
  pace_.WatchFloor(out_);
  pace_.WatchFloor(out_);
  ASSERT_EQ(out_.events.size(), 1U);
  EXPECT_TRUE(HasEvent("others wait for it"));
  JobProgress progress;
  pace_.Fill(progress);
  EXPECT_EQ(progress.floor_worker, 1U);
}

TEST_F(PaceTest, ALostWorkerHoldsUpNone) {
  Says(kWorker, 3, 3);
  pace_.Remove(kOther);
  EXPECT_EQ(pace_.floor(), 3U);
}

TEST_F(PaceTest, ASwitchWaitsForThePromisesOfAllWorkers) {
  pace_.OnCommand(CommandId(1), {.mode = Mode("ssp:3")}, kNever, out_);
  EXPECT_FALSE(pace_.ContinueSwitch(false, out_)) << "the clocks are needed for a checkpoint";
  EXPECT_FALSE(pace_.ContinueSwitch(true, out_));
  const uint64_t hold = pace_.state().hold;
  ASSERT_NE(hold, 0U);
  EXPECT_TRUE(pace_.MayBegin(kWorker)) << "it is counted";
  EXPECT_FALSE(pace_.MayBegin(NodeId(77))) << "has not promised to stop";
  Says(kWorker, 0, 0, hold);
  EXPECT_FALSE(pace_.ContinueSwitch(true, out_));
  Says(kOther, 0, 0, hold);
  EXPECT_TRUE(pace_.ContinueSwitch(true, out_));
  ASSERT_EQ(out_.command_results.size(), 1U);
  EXPECT_TRUE(out_.command_results[0].status.ok());
  EXPECT_EQ(ToString(pace_.state().mode), "ssp:3");
}

TEST_F(PaceTest, WhenTheJobIsOverSwitchesAreAbandoned) {
  pace_.OnCommand(CommandId(1), {.mode = Mode("ssp:3")}, kNever, out_);
  pace_.OnCommand(CommandId(2), {.mode = Mode("async")}, kNever, out_);
  EXPECT_EQ(pace_.AbandonAll(), (std::vector{CommandId(1), CommandId(2)}));
}

TEST_F(PaceTest, ASuccessorContinuesFromWhatItsMembersWereSent) {
  PreviousMembers previous;
  const auto answers = [&](NodeId node, uint64_t floor) {
    previous[node].answer = Promised{.map = {}, .standing = {}, .sync = {}, .tables = {}, .mirror = {}};
    previous[node].answer->sync = {.revision = 100 + floor, .floor = floor};
  };
  for (const NodeId node : {kServer0, kServer1, kWorker}) answers(node, 5);
  answers(kOther, 7);
  answers(NodeId(99), 50);  // no member any more
  pace_.RestoreSteps(previous);
  EXPECT_EQ(pace_.floor(), 7U);
}

}  // namespace
}  // namespace attune::ps::pace_test
