// The tuner's control loop against a job that exists only as a formula.
#include "operator/controller/tuning/tuning_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "tests/operator/controller/tuning/formula_job.h"

namespace attune::controller::tuning_loop_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(TuningLoop, FindsAMuchBetterSettingAndTellsTheStory) {
  FormulaJob job(api::TuningMode::kAuto);
  job.Run(900);
  EXPECT_GT(Rate(job.input.wanted), 2.0 * Rate({1, 1})) << job.events;
  EXPECT_GE(job.writes, 2);
  EXPECT_LE(job.writes, 30) << job.events;
  EXPECT_EQ(job.last.status.stage, "Keeping") << job.last.status.message;
  EXPECT_THAT(job.events, HasSubstr("TuningTrial: Trying "));
  EXPECT_THAT(job.events, HasSubstr("TuningOutcome: "));
  EXPECT_EQ(static_cast<int>(job.last.status.changes), job.writes);
  ASSERT_TRUE(job.last.status.remaining_seconds.has_value());
  EXPECT_LT(*job.last.status.remaining_low, *job.last.status.remaining_high);
  EXPECT_LT(job.last.state.size(), TuningLoop::kStateBytesMax);
}

// Per step, where each pod costs the same for an hour.
double Cost(const JobSetting& at) { return (at.servers + at.workers) / Rate(at); }

TEST(TuningLoop, TheObjectiveDecidesBetweenTimeAndCost) {
  double cheapest = 1e9;
  for (int servers = 1; servers <= 4; ++servers) {
    for (int workers = 1; workers <= 8; ++workers) cheapest = std::min(cheapest, Cost({servers, workers}));
  }
  std::map<api::ObjectiveKind, JobSetting> found;
  for (const auto kind : {api::ObjectiveKind::kTime, api::ObjectiveKind::kCost}) {
    FormulaJob job(api::TuningMode::kAuto);
    job.input.wanted = job.actual = {4, 8};
    job.input.policy.objective.kind = kind;
    job.Run(900);
    found[kind] = job.input.wanted;
    if (kind == api::ObjectiveKind::kCost) {
      EXPECT_LE(Cost(found[kind]), 1.1 * cheapest) << job.events;
    }
  }
  EXPECT_GT(Rate(found[api::ObjectiveKind::kTime]), 1.5 * Rate(found[api::ObjectiveKind::kCost]));
}

TEST(TuningLoop, AMetricIsAGoalLikeALoss) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.goal = {.target_metric = {.name = "held_out_loss", .value = 0.05, .direction = api::Direction::kMinimize}};
  for (int second = 0; second < 600; ++second) {
    const uint64_t reports = job.input.job_steps / 500;
    if (reports > job.input.metric_reports) {
      job.input.metric_reports = reports;
      job.input.metric = 1 / (1 + static_cast<double>(job.input.job_steps) / 5000);
    }
    job.Tick();
  }
  EXPECT_EQ(job.last.status.stage, "Keeping") << job.last.status.message;
  EXPECT_GT(Rate(job.input.wanted), 2.0 * Rate({1, 1})) << job.events;
  EXPECT_TRUE(job.last.status.remaining_seconds.has_value());
}

// Numbers of pods are fixed: the limit of CPU is all there is, and one look at the throttling says where to go.
TEST(TuningLoop, ThrottledWorkersAreGivenTheCoresTheyWantAndNoMore) {
  for (const int32_t begin : {250, 4000}) {
    FormulaJob job(api::TuningMode::kInPlaceOnly);
    job.input.wanted.workers = job.actual.workers = 2;
    job.input.wanted.worker_millicores = job.actual.worker_millicores = begin;
    job.input.low.worker_millicores = 250;
    job.input.high.worker_millicores = 4000;
    job.Run(600);
    ASSERT_TRUE(job.last.status.worker_millicores.has_value()) << job.last.status.message;
    EXPECT_GE(*job.last.status.worker_millicores, 1300) << "from " << begin << ": " << job.events;
    EXPECT_LE(*job.last.status.worker_millicores, 2700) << "from " << begin << ": " << job.events;
    EXPECT_LE(job.writes, 6) << "from " << begin << ": " << job.events;
    EXPECT_EQ(job.input.wanted.workers, 2);
  }
}

TEST(TuningLoop, RecommendTouchesNothingAndSaysWhatItWouldDo) {
  FormulaJob job(api::TuningMode::kRecommend);
  job.Run(120);
  EXPECT_EQ(job.writes, 0);
  EXPECT_EQ(job.actual, (JobSetting{1, 1}));
  ASSERT_TRUE(job.last.status.recommended_workers.has_value()) << job.last.status.message;
  EXPECT_GT(*job.last.status.recommended_workers, 1);
  EXPECT_THAT(job.last.status.message, HasSubstr("recommends "));
  EXPECT_THAT(job.events, HasSubstr("TuningRecommended"));
}

TEST(TuningLoop, InitialStopsAtTheFirstSettingItKeeps) {
  FormulaJob job(api::TuningMode::kInitial);
  job.Run(600);
  EXPECT_EQ(job.last.status.stage, "Finished") << job.last.status.message;
  const int writes = job.writes;
  job.Run(300);
  EXPECT_EQ(job.writes, writes);
}

TEST(TuningLoop, InPlaceOnlySaysThatNothingCanChangeInPlace) {
  FormulaJob job(api::TuningMode::kInPlaceOnly);
  job.Run(60);
  EXPECT_EQ(job.writes, 0);
  EXPECT_EQ(job.last.status.stage, "Unavailable");
  EXPECT_THAT(job.last.status.message, HasSubstr("without other pods"));
}

// A job whose program offers threads, or whose manifest lets the tuner choose the pace.
FormulaJob InPlace(int32_t threads_max, const api::KnobPolicy& slack) {
  FormulaJob job(api::TuningMode::kInPlaceOnly);
  job.input.wanted = job.actual = {.servers = 2, .workers = 4, .slack = 0};
  job.input.threads_max = threads_max;
  job.input.switches_modes = true;
  job.input.policy.slack = slack;
  return job;
}

TEST(TuningLoop, InPlaceOnlyTurnsThreadsAndLeavesPodsAndPaceAlone) {
  FormulaJob job = InPlace(8, {});
  job.Run(400);
  EXPECT_EQ(job.input.wanted.servers, 2);
  EXPECT_EQ(job.input.wanted.workers, 4);
  EXPECT_GT(*job.input.wanted.threads, 1) << job.events;
  EXPECT_EQ(job.input.wanted.slack, 0) << "the user allows no other pace";
  EXPECT_THAT(job.events, HasSubstr("Trying 2 servers, 4 workers, "));
  EXPECT_THAT(job.events, HasSubstr(" threads each instead of 2 servers, 4 workers, 1 thread each"));
  EXPECT_EQ(job.last.status.threads, job.input.wanted.threads);
  EXPECT_FALSE(job.last.status.slack.has_value());
}

TEST(TuningLoop, InPlaceOnlyLeavesTheBarrierWhereOneWorkerIsSlow) {
  FormulaJob job = InPlace(0, {.min = 0});
  job.Run(400);
  EXPECT_EQ(job.input.wanted, (JobSetting{.servers = 2, .workers = 4, .slack = tuner::kSlackAsync})) << job.events;
  EXPECT_THAT(job.events, HasSubstr("2 servers, 4 workers, Async instead of 2 servers, 4 workers, BSP"));
  EXPECT_EQ(job.last.status.slack, tuner::kSlackAsync);
}

TEST(TuningLoop, ThePaceStaysWithinItsRange) {
  FormulaJob job = InPlace(0, {.max = 4});
  std::set<int> seen;
  for (int i = 0; i < 400; ++i) {
    job.Tick();
    seen.insert(*job.input.wanted.slack);
  }
  for (const int slack : seen) EXPECT_THAT(slack, ::testing::AnyOf(0, 1, 2, 4)) << job.events;
  job.input.policy.slack = {.pinned = 2};
  job.Write({.servers = 2, .workers = 4, .slack = 2});
  job.Run(200);
  EXPECT_EQ(job.input.wanted.slack, 2) << job.events;
}

TEST(TuningLoop, ServersThatCannotSwitchKeepTheirPace) {
  FormulaJob job = InPlace(0, {.min = 0});
  job.input.switches_modes = false;
  job.Run(60);
  EXPECT_EQ(job.writes, 0);
  EXPECT_EQ(job.last.status.stage, "Unavailable");
  EXPECT_THAT(job.last.status.message, HasSubstr("spec.tuning.slack allows no other pace"));
  // Their coordinator says later what they can.
  job.input.switches_modes = true;
  job.Run(300);
  EXPECT_GE(job.writes, 1) << job.last.status.message;
}

TEST(TuningLoop, AllKnobsTogetherFindMoreThanPodsAlone) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.wanted = job.actual = {.servers = 1, .workers = 1, .slack = 0};
  job.input.threads_max = 8;
  job.input.switches_modes = true;
  job.input.policy.slack.min = 0;
  job.Run(1500);
  const JobSetting best_of_pods{.servers = 4, .workers = 8, .slack = 0};
  EXPECT_GT(Rate(job.input.wanted), 1.5 * Rate(best_of_pods)) << job.events;
  // A new operator reads all of it, though what is saved lists knobs by name.
  const JobSetting before = job.input.wanted;
  job.Restart();
  job.input.threads_max = 0;  // its workers have not reported to it yet
  job.Tick();
  EXPECT_EQ(job.input.wanted, before);
  EXPECT_EQ(job.last.status.slack, before.slack);
  EXPECT_EQ(job.last.status.threads, before.threads);
  EXPECT_THAT(job.last.status.message, Not(HasSubstr("a user chose")));
}

TEST(TuningLoop, WhatInitialFoundIsWhereAutoGoesOn) {
  FormulaJob job(api::TuningMode::kInitial);
  job.Run(600);
  ASSERT_EQ(job.last.status.stage, "Finished");
  job.input.policy.mode = api::TuningMode::kAuto;
  job.Run(60);
  EXPECT_EQ(job.last.status.stage, "Keeping") << job.last.status.message;
}

TEST(JobSetting, OnlyWhatIsTheTunersToChooseIsWritten) {
  EXPECT_EQ(SpecPatch({2, 4}).dump(), R"({"servers":{"replicas":2},"workers":{"replicas":4}})");
  EXPECT_EQ(SpecPatch({2, 4, 3, 8}).dump(),
            R"({"servers":{"replicas":2},"synchronization":{"mode":"SSP","staleness":8},)"
            R"("workers":{"replicas":4,"threads":3}})");
  EXPECT_EQ(SpecPatch({1, 1, std::nullopt, tuner::kSlackAsync})["synchronization"].dump(),
            R"({"mode":"Async","staleness":null})");
  EXPECT_EQ(ToString(JobSetting{2, 1, 3, 8}), "2 servers, 1 worker, 3 threads each, SSP(8)");
}

TEST(TuningLoop, HowLongAJobLastsIsCountedAnewWhereItsItemsAreReportedInLumps) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.goal.steps.reset();
  job.input.goal.epochs = 3;
  job.input.items_total = 300'000 * FormulaJob::kItemsPerStep;
  job.lease_items = 70 * FormulaJob::kItemsPerStep;  // three seconds of the first setting
  job.Run(700);
  ASSERT_EQ(job.last.status.stage, "Keeping") << job.last.status.message;
  EXPECT_NEAR(job.RemainingOff(), 0, 0.03);
  EXPECT_LT(*job.last.status.remaining_low, *job.last.status.remaining_high);
  job.Restart();
  job.input.steps = 0;  // counters of the new process
  job.Run(30);
  EXPECT_NEAR(job.RemainingOff(), 0, 0.03);
}

TEST(TuningLoop, AJobThatEndsAtATimeEndsThenAtAnySpeed) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.goal.steps.reset();
  job.input.goal.max_duration_seconds = 900;
  job.Run(500);
  EXPECT_GT(Rate(job.input.wanted), 2.0 * Rate({1, 1})) << job.events;
  ASSERT_TRUE(job.last.status.remaining_seconds.has_value()) << job.last.status.message;
  const double left = *job.last.status.remaining_seconds;  // as of the last decision
  EXPECT_GE(left, 400);
  EXPECT_LT(left, 500);
  EXPECT_EQ(job.last.status.remaining_low, left);
  EXPECT_EQ(job.last.status.remaining_high, left);
  // It was resumed elsewhere for an hour meanwhile: what the coordinator counts is what ends it.
  job.input.trained_seconds = 880;
  const int writes = job.writes;
  job.Run(15);
  EXPECT_EQ(job.writes, writes) << "too late for another change\n" << job.events;
}

// Writing a status makes the operator look again: what changes with the clock alone would never come to rest.
TEST(TuningLoop, BetweenDecisionsTheStatusStandsStill) {
  FormulaJob job(api::TuningMode::kAuto);
  job.Run(700);
  ASSERT_EQ(job.last.status.stage, "Keeping") << job.last.status.message;
  const std::string before = job.last.state;
  while (job.last.state == before && job.input.time < 900) job.Tick();
  const api::TuningStatus decided = job.last.status;
  const std::string state = job.last.state;
  for (int looks = 0; looks < 10; ++looks) {
    job.input.time += 0.01;
    const TuningOutput output = job.loop.Step(job.input, Priors());
    const api::TuningStatus& status = output.status;
    EXPECT_EQ(output.state, state);
    EXPECT_EQ(status.message, decided.message);
    EXPECT_EQ(status.remaining_low, decided.remaining_low);
    EXPECT_EQ(status.remaining_seconds, decided.remaining_seconds);
    EXPECT_EQ(status.remaining_high, decided.remaining_high);
  }
}

TEST(TuningLoop, AShortJobIsLeftAlone) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.goal.steps = 500;
  job.Run(30);
  EXPECT_EQ(job.writes, 0);
  EXPECT_EQ(job.last.status.stage, "Unavailable");
  EXPECT_THAT(job.last.status.message, HasSubstr("too short"));
}

TEST(TuningLoop, ASettingPinnedShortlyBeforeTheEndIsStillReported) {
  FormulaJob job = InPlace(0, {.max = 4});
  job.Run(200);
  ASSERT_NE(job.last.status.stage, "Unavailable");
  // Another space: the tuner begins again, and too little is left for that.
  job.input.goal.steps = job.input.job_steps + 2000;
  job.input.policy.slack = {.pinned = 2};
  job.Write({.servers = job.input.wanted.servers, .workers = job.input.wanted.workers, .slack = 2});
  job.Run(30);
  ASSERT_EQ(job.last.status.stage, "Unavailable") << job.last.status.message;
  EXPECT_EQ(job.last.status.servers, job.input.wanted.servers);
  EXPECT_EQ(job.last.status.workers, job.input.wanted.workers);
  EXPECT_EQ(job.last.status.slack, 2);
}

TEST(TuningLoop, PausedLeavesEverythingAndResumesWithWhatItKnew) {
  FormulaJob job(api::TuningMode::kAuto);
  job.Run(200);
  job.input.policy.paused = true;
  job.Tick();
  const int writes = job.writes;
  job.Run(100);
  EXPECT_EQ(job.writes, writes);
  EXPECT_EQ(job.last.status.stage, "Paused");
  job.input.policy.paused = false;
  job.Run(700);
  EXPECT_GT(Rate(job.input.wanted), 2.0 * Rate({1, 1})) << job.events;
}

TEST(TuningLoop, APinnedKnobStaysAndTheOtherIsTuned) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.policy.servers.pinned = 1;
  job.Run(600);
  EXPECT_EQ(job.input.wanted.servers, 1);
  EXPECT_GT(job.input.wanted.workers, 1) << job.events;
}

TEST(TuningLoop, PinningInTheMiddleKeepsWhatWasMeasured) {
  FormulaJob job(api::TuningMode::kAuto);
  job.Run(200);
  job.input.policy.workers.pinned = 4;
  job.Write({job.input.wanted.servers, 4});
  job.Run(400);
  EXPECT_EQ(job.input.wanted.workers, 4) << job.events;
}

// The numbers of a story, and that each stands in it once.
std::vector<uint64_t> NumbersOf(const std::string& state) {
  std::vector<uint64_t> numbers;
  for (const tuner::NamedRecord& named : TuningLoop::StoryOf(state)) numbers.push_back(named.record.number);
  return numbers;
}

TEST(TuningLoop, TheStoryOutlivesPinsPausesAndRestarts) {
  FormulaJob job(api::TuningMode::kAuto);
  job.Run(200);
  const std::vector<uint64_t> before = NumbersOf(job.last.state);
  ASSERT_GE(before.size(), 2U) << job.events;
  job.input.policy.servers.pinned = 2;
  job.Write({2, job.input.wanted.workers});
  job.Run(60);
  job.input.policy.paused = true;
  job.Run(10);
  job.input.policy.paused = false;
  job.Run(60);
  job.Restart();
  job.Run(60);
  job.input.policy.servers.pinned.reset();
  job.input.policy.workers.pinned = 3;
  job.Write({job.input.wanted.servers, 3});
  job.Run(200);
  const std::vector<uint64_t> after = NumbersOf(job.last.state);
  ASSERT_GT(after.size(), before.size()) << job.events;
  for (size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i], i + 1) << "numbered from the job's begin";
  EXPECT_GE(job.last.status.changes, after.size());
  for (const tuner::NamedRecord& named : TuningLoop::StoryOf(job.last.state))
    EXPECT_EQ(named.knobs, (std::vector<std::string>{"servers", "workers"}));
}

TEST(TuningLoop, OutcomesAreToldOfEveryTunerOfAJob) {
  FormulaJob job(api::TuningMode::kAuto);
  job.Run(200);
  job.events.clear();
  job.input.policy.servers.pinned = 2;
  job.Write({2, job.input.wanted.workers});
  job.Run(300);
  EXPECT_THAT(job.events, HasSubstr("TuningTrial")) << "another tuner was at work";
  EXPECT_THAT(job.events, HasSubstr("TuningOutcome")) << "and its first decisions are not taken for old ones\n"
                                                      << job.events;
}

TEST(TuningLoop, AChangeThatIsInterruptedHasAnOutcomeToo) {
  FormulaJob job(api::TuningMode::kAuto);
  while (job.writes == 0 && job.input.time < 300) job.Tick();
  ASSERT_EQ(job.writes, 1);
  EXPECT_THAT(job.events, Not(HasSubstr("TuningOutcome")));
  job.input.policy.servers.pinned = 2;
  job.Write({2, job.input.wanted.workers});
  job.Tick();
  EXPECT_THAT(job.events, HasSubstr("left before it was judged"));
}

TEST(TuningLoop, WhatWasOnlyRecommendedIsNoStory) {
  FormulaJob job(api::TuningMode::kRecommend);
  job.Run(120);
  EXPECT_THAT(TuningLoop::StoryOf(job.last.state), IsEmpty());
  job.input.policy.mode = api::TuningMode::kAuto;
  job.Run(300);
  ASSERT_THAT(TuningLoop::StoryOf(job.last.state), Not(IsEmpty()));
  EXPECT_EQ(NumbersOf(job.last.state).front(), 1U);
}

TEST(TuningLoop, AStoryOfAnyLengthFitsTheStatus) {
  FormulaJob job(api::TuningMode::kAuto);
  for (int turn = 0; turn < 12; ++turn) {
    job.input.policy.servers.pinned = 1 + turn % 4;
    job.Write({1 + turn % 4, job.input.wanted.workers});
    job.Run(150);
  }
  EXPECT_LE(job.last.state.size(), TuningLoop::kStateBytesMax);
  EXPECT_GE(TuningLoop::StoryOf(job.last.state).size(), 15U);
}

TEST(TuningLoop, WhereEverythingIsPinnedItSaysSo) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.policy.servers.pinned = 1;
  job.input.policy.workers.pinned = 1;
  job.Run(60);
  EXPECT_EQ(job.last.status.stage, "Unavailable");
  EXPECT_THAT(job.last.status.message, HasSubstr("servers=1 and workers=1 are pinned"));
  EXPECT_THAT(job.last.status.message, HasSubstr("attune tune unpin"));
  job.input.policy.workers.pinned.reset();
  job.Run(300);
  EXPECT_GE(job.writes, 1) << job.last.status.message;
}

TEST(TuningLoop, AnOperatorThatRestartsAnywhereCarriesOn) {
  for (const int at : {3, 9, 12, 20, 33, 47, 80}) {
    FormulaJob job(api::TuningMode::kAuto);
    job.Run(at);
    const uint64_t changes = job.last.status.changes;
    job.Restart();
    job.input.steps = 0;  // counters of the new process
    job.Run(600);
    EXPECT_GE(job.last.status.changes, changes);
    EXPECT_GT(Rate(job.input.wanted), 2.0 * Rate({1, 1})) << "restarted after " << at << " s\n" << job.events;
  }
}

TEST(TuningLoop, AStateThatCannotBeReadIsBegunAnew) {
  for (const char* state : {"x", "{}", R"({"version":1})", R"({"version":1,"stage":9})", "[]"}) {
    FormulaJob job(api::TuningMode::kAuto);
    job.loop = TuningLoop(state);
    job.Run(300);
    EXPECT_GE(job.writes, 1) << state;
  }
}

TEST(TuningLoop, ASettingThatDoesNotComeAboutIsGivenUpAndNotTriedAgain) {
  FormulaJob job(api::TuningMode::kAuto);
  while (job.writes == 0 && job.input.time < 300) job.Tick();
  ASSERT_EQ(job.writes, 1);
  const JobSetting impossible = job.input.wanted;
  job.stuck = true;
  job.Run(static_cast<int>(TuningLoop::kMovingTimeout) + 5);
  EXPECT_THAT(job.events, HasSubstr("TuningSettingFailed: " + ToString(impossible)));
  EXPECT_EQ(job.input.wanted, (JobSetting{1, 1}));
  job.stuck = false;
  job.change_left = 1;
  for (int i = 0; i < 600; ++i) {
    job.Tick();
    EXPECT_NE(job.input.wanted, impossible);
  }
}

TEST(TuningLoop, ASizeThatNeverFitsIsLeftAtOnceAndNothingAsLargeIsTriedAgain) {
  FormulaJob job(api::TuningMode::kInPlaceOnly);
  job.input.wanted.worker_millicores = job.actual.worker_millicores = 400;
  job.input.low.worker_millicores = 250;
  job.input.high.worker_millicores = 4000;
  constexpr int32_t kRoom = 900;  // of the machine
  double asked_at = 0;
  int32_t refused = 0, refusals = 0;
  for (int i = 0; i < 1200; ++i) {
    const int32_t wanted = *job.input.wanted.worker_millicores;
    job.stuck = wanted > kRoom;
    job.input.infeasible.reset();
    if (job.stuck) job.input.infeasible = {RoleName::kWorker, wanted, "a-worker-0 on node-1: no room"};
    if (job.stuck && asked_at == 0) {
      ++refusals;
      asked_at = job.input.time;
      EXPECT_TRUE(refused == 0 || wanted < refused) << wanted << " after " << refused;
      refused = wanted;
    }
    if (!job.stuck) asked_at = 0;
    if (asked_at > 0) {
      ASSERT_LE(job.input.time - asked_at, 3) << job.events;
    }
    if (i == 600) job.Restart(), job.input.steps = 0;
    job.Tick();
  }
  ASSERT_GT(refusals, 0) << job.events;
  EXPECT_LE(refusals, 8) << "each time a level lower at least";
  EXPECT_THAT(job.events, HasSubstr("m of cpu never fit (a-worker-0 on node-1: no room); from now on workers get "));
  EXPECT_LE(*job.input.wanted.worker_millicores, kRoom);
  EXPECT_GE(*job.input.wanted.worker_millicores, 400);
}

TEST(TuningLoop, AFailureDuringATrialIsBlamedOnTheSetting) {
  FormulaJob job(api::TuningMode::kAuto);
  while (job.last.status.stage != "Trying" && job.input.time < 300) job.Tick();
  ASSERT_EQ(job.last.status.stage, "Trying");
  const JobSetting bad = job.input.wanted;
  ++job.input.failures;
  job.Tick();
  EXPECT_THAT(job.events, HasSubstr("TuningSettingFailed: " + ToString(bad)));
  job.Run(600);
  EXPECT_NE(job.input.wanted, bad) << job.events;
}

TEST(TuningLoop, AFailureWhileKeepingIsNobodysFault) {
  FormulaJob job(api::TuningMode::kAuto);
  job.Run(700);
  ASSERT_EQ(job.last.status.stage, "Keeping");
  const JobSetting kept = job.input.wanted;
  ++job.input.failures;
  job.Run(20);
  EXPECT_THAT(job.events, Not(HasSubstr("TuningSettingFailed")));
  EXPECT_EQ(job.input.wanted, kept);
}

TEST(TuningLoop, NoTrialIsJudgedBeforeAWholeWindowOfIt) {
  FormulaJob job(api::TuningMode::kAuto);
  for (int second = 0; second < 400; ++second) {
    job.Tick();
    // Now a worker's report is late, now a worker is away for a while.
    const int away = job.last.status.stage != "Trying" ? 0 : second % 20 == 0 ? 6 : second % 3 == 0 ? 1 : 0;
    job.flicker = away > 0;
    job.Run(away);
    job.flicker = false;
  }
  const std::string& events = job.events;
  ASSERT_THAT(events, HasSubstr("TuningOutcome"));
  for (size_t at = events.find("TuningOutcome"); at != std::string::npos; at = events.find("TuningOutcome", at + 1)) {
    EXPECT_THAT(events.substr(at, events.find('\n', at) - at), HasSubstr("measured"));
  }
}

TEST(TuningLoop, SomebodyElsesChangeIsTakenUpNotFought) {
  FormulaJob job(api::TuningMode::kAuto);
  job.Run(700);
  job.Write({2, 2});
  const int writes = job.writes;
  job.Run(4);
  EXPECT_EQ(job.writes, writes);
  EXPECT_THAT(job.last.status.message, HasSubstr("a user chose 2 servers, 2 workers"));
}

TEST(TuningLoop, NothingHappensWithoutReports) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.training = false;
  job.Run(100);
  EXPECT_EQ(job.writes, 0);
  EXPECT_THAT(job.events, IsEmpty());
  EXPECT_EQ(job.last.status.stage, "Learning");
}

TEST(TuningLoop, AClockThatGoesBackIsStoodStill) {
  FormulaJob job(api::TuningMode::kAuto);
  job.Run(100);
  job.input.time -= 50;
  job.Run(600);
  EXPECT_GT(Rate(job.input.wanted), 2.0 * Rate({1, 1})) << job.events;
}

TEST(TuningLoop, AWallClockThatJumpsForwardAndBackStopsNothing) {
  FormulaJob job(api::TuningMode::kAuto);
  job.Run(50);
  job.input.age += 86'400;
  job.Run(50);
  job.input.age -= 86'400;
  job.Run(600);
  EXPECT_GT(Rate(job.input.wanted), 2.0 * Rate({1, 1})) << job.events;
}

TEST(TuningLoop, EqualInputsGiveEqualDecisions) {
  FormulaJob a(api::TuningMode::kAuto), b(api::TuningMode::kAuto);
  a.Run(300);
  b.Run(300);
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.last.state, b.last.state);
}

TEST(TuningLoop, ASecondJobOfAKindStartsFromWhatTheFirstLearned) {
  const auto steps_early = [](const tuner::JobHistory& history, const std::string& signature) {
    FormulaJob job(api::TuningMode::kAuto);
    job.input.signature = signature;
    job.loop.SetHistory(history);
    job.Run(100);
    return static_cast<double>(job.input.steps);
  };
  FormulaJob first(api::TuningMode::kAuto);
  first.input.signature = "word2vec";
  EXPECT_FALSE(first.loop.Summary().has_value()) << "nothing is learned yet";
  first.Run(900);
  tuner::JobHistory history;
  history.Add(*first.loop.Summary());
  const double cold = steps_early({}, "word2vec");
  EXPECT_GT(steps_early(history, "word2vec"), 1.05 * cold);
  EXPECT_EQ(steps_early(history, "another program"), cold) << "only similar jobs count";
}

TEST(TuningLoop, WhatIsWrongStandsInTheStateAndIsTold) {
  FormulaJob job(api::TuningMode::kRecommend);
  job.input.server_figures.assign(1, {.cpu = 0.98, .memory = 0.2, .requests = 90});
  job.input.worker_figures.assign(1, {.cpu = 0.5, .memory = 0.2, .step_seconds = 0.1, .wait_share = 0.85});
  job.Run(60);
  const auto findings = TuningLoop::FindingsOf(job.last.state);
  ASSERT_EQ(findings.size(), 2u) << job.events;
  EXPECT_THAT(findings[0], HasSubstr("HotServer: the only server has no CPU left"));
  EXPECT_THAT(findings[1], HasSubstr("StarvedWorkers"));
  EXPECT_THAT(job.events, HasSubstr("StarvedWorkers: workers wait for rows 85 %"));
  job.input.server_figures[0].cpu = job.input.worker_figures[0].wait_share = 0.3;
  job.Run(60);
  EXPECT_THAT(TuningLoop::FindingsOf(job.last.state), IsEmpty()) << job.last.state;
}

TEST(TuningLoop, AnUnreachedLossIsAGoalToo) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.goal.steps.reset();
  job.input.goal.target_loss = 0.1;
  uint64_t before = 0;
  for (int i = 0; i < 600; ++i) {
    job.Tick();
    const double loss = 0.05 + 2 / (1 + static_cast<double>(job.input.steps) / 3000);
    const auto steps = static_cast<double>(job.input.steps - before);
    before = job.input.steps;
    job.input.loss_sum += loss * steps;
    job.input.loss_weight += steps;
  }
  EXPECT_GE(job.writes, 1) << job.last.status.message;
}

// Windows of the loss that the tuner was informed of, by staleness.
std::map<double, double> WindowsByStaleness(const TuningOutput& output) {
  const auto state = kube::Json::parse(TuningLoop::TunerStateOf(output.state));
  std::map<double, double> windows;
  for (const auto& segment : state.at("curve").at("segments"))
    windows[segment.at(2).get<double>()] += segment.at(0).get<double>();
  return windows;
}

// From two workers; a change takes 45 s to come about.
FormulaJob JobWithLongLeads() {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.goal.steps.reset();
  job.input.goal.target_loss = 0.1;
  job.input.wanted = job.actual = {1, 2};
  job.lead = 45;
  return job;
}

void TickWithALoss(FormulaJob& job) {
  job.Tick();
  job.input.loss_sum += 1.0;
  job.input.loss_weight += 1;
}

TEST(TuningLoop, WhilePodsStartTheLossIsThatOfTheSettingWhichRunsOn) {
  FormulaJob job = JobWithLongLeads();
  while (job.last.status.stage != "Trying" && job.input.time < 300) {
    TickWithALoss(job);
    job.input.staleness = job.actual.workers - 1.0;
  }
  ASSERT_EQ(job.writes, 1) << job.events;
  ASSERT_GT(job.actual.workers, 2);
  EXPECT_GE(WindowsByStaleness(job.last)[1], 8) << "windows of 5 s in 45 s";
}

// Where no worker measures staleness, it follows from the setting.
TEST(TuningLoop, WhileAnothersChoiceComesAboutTheLossIsThatOfTheSettingWhichRunsOn) {
  FormulaJob job = JobWithLongLeads();
  job.input.mode = SyncMode::Bsp();
  do {
    TickWithALoss(job);
  } while (job.last.status.stage == "Learning" && job.input.time < 300);
  job.Write({1, 6});
  while (job.actual.workers == 2 && job.input.time < 300) TickWithALoss(job);
  TickWithALoss(job);
  ASSERT_EQ(job.writes, 1) << job.events;
  EXPECT_GE(WindowsByStaleness(job.last)[1], 8) << job.last.state;
}

}  // namespace
}  // namespace attune::controller::tuning_loop_test
