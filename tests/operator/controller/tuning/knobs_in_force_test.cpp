#include "operator/controller/tuning/knobs_in_force.h"

#include <gtest/gtest.h>

#include <string>

namespace attune::controller::knobs_in_force_test {
namespace {

TuningInput Elastic() {
  TuningInput input;
  input.policy.mode = api::TuningMode::kAuto;
  input.wanted = {.servers = 2, .workers = 3};
  input.low = {.servers = 1, .workers = 1};
  input.high = {.servers = 8, .workers = 8};
  input.elastic_servers = true;
  return input;
}

std::string Names(const tuner::SpaceDescription& space) {
  std::string names;
  for (const tuner::KnobRange& knob : space.knobs) names += knob.name + " ";
  return names;
}

TEST(KnobsInForceTest, ThreadsAreAKnobOnceAWorkerHasSaidSo) {
  KnobsInForce knobs;
  TuningInput input = Elastic();
  input.wanted.threads = 2;
  knobs.Narrow(input, {});
  EXPECT_EQ(input.wanted.threads, std::nullopt) << "no program has offered threads";
  EXPECT_EQ(Names(knobs.Space(input)), "servers workers ");

  input.threads_max = 4;
  knobs.Narrow(input, {});
  EXPECT_EQ(input.wanted.threads, 1);
  EXPECT_EQ(Names(knobs.Space(input)), "servers threads workers ");

  TuningInput silent = Elastic();
  knobs.Narrow(silent, 3);
  EXPECT_EQ(silent.wanted.threads, 3) << "a program that is silent for a while still offers what it did";
  EXPECT_EQ(Names(knobs.Space(silent)), "servers threads workers ");
}

TEST(KnobsInForceTest, HowWorkersKeepPaceIsLeftToTheManifest) {
  KnobsInForce knobs;
  TuningInput input = Elastic();
  input.switches_modes = true;
  input.wanted.slack = 4;
  knobs.Narrow(input, {});
  EXPECT_EQ(input.wanted.slack, std::nullopt);
}

TEST(KnobsInForceTest, AnotherRangeOrObjectiveIsAnotherSpace) {
  KnobsInForce knobs;
  TuningInput input = Elastic();
  EXPECT_TRUE(knobs.Look(input)) << "the first one";
  EXPECT_FALSE(knobs.Look(input));
  input.wanted.workers = 5;
  EXPECT_FALSE(knobs.Look(input)) << "another setting of the same space";
  input.high.workers = 6;
  EXPECT_TRUE(knobs.Look(input));
  input.policy.objective.kind = api::ObjectiveKind::kCost;
  EXPECT_TRUE(knobs.Look(input));
  EXPECT_TRUE(knobs.AreTried());
  input.policy.mode = api::TuningMode::kRecommend;
  EXPECT_TRUE(knobs.Look(input)) << "what is recommended is not tried";
  EXPECT_FALSE(knobs.AreTried());
}

TEST(KnobsInForceTest, TheRoomOfTheNamespaceNarrowsOnceAChangeHasMetItsEdge) {
  KnobsInForce knobs;
  TuningInput input = Elastic();
  input.room.millicores = 4000;
  knobs.Look(input);
  input.room.millicores = 1000;
  EXPECT_FALSE(knobs.Look(input));
  knobs.MeetEdge();
  EXPECT_TRUE(knobs.Look(input));
}

TEST(KnobsInForceTest, ASizeThatNeverFitsIsOutOfRangeFromTheNextSettingOn) {
  KnobsInForce knobs;
  const InfeasibleCpu size{.role = RoleName::kWorker, .millicores = 2500, .text = {}};
  ASSERT_TRUE(knobs.Lower(size, {.servers = 1, .workers = 1, .worker_millicores = 1000}));
  TuningInput input = Elastic();
  input.high.worker_millicores = 4000;
  knobs.Narrow(input, {});
  EXPECT_EQ(input.high.worker_millicores, 4000);
  knobs.Settle();
  knobs.Narrow(input, {});
  EXPECT_EQ(input.high.worker_millicores, 2000);
}

TEST(KnobsInForceTest, AnotherOperatorContinuesWithTheSameSpace) {
  KnobsInForce knobs, next;
  TuningInput input = Elastic();
  input.threads_max = 4;
  knobs.Narrow(input, {});
  knobs.Look(input);
  next.Load(knobs.kept(), true);
  input.threads_max = 0;  // no worker has reported to it yet
  next.Narrow(input, {});
  EXPECT_FALSE(next.Look(input));
}

}  // namespace
}  // namespace attune::controller::knobs_in_force_test
