#include "operator/tuner/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace attune::tuner::tuner_test {
namespace {

using ::testing::HasSubstr;

JobDescription Job() {
  JobDescription job;
  job.space.knobs = {{"servers", 1, 4}, {"workers", 1, 8}, {"threads", 1, 2}};
  job.space.current = Setting{1, 1, 1};
  job.goal = {.kind = GoalKind::kSteps, .target = 60'000};
  job.costs = {.live = 0.2, .relocation = 2, .pods = 5, .crash = 40};
  job.window_seconds = 5;
  return job;
}

double SecondsPerUpdate(const Setting& s) {
  const double p = s[0], w = s[1], t = s[2];
  return 0.1 * ((0.3 + 0.7 / t) / w + 0.3 / p + 0.01 * w);
}

// Plays a job; returns the seconds it took. `report` may falsify what is reported.
template <typename Change>
double Play(Tuner& tuner, Setting here, double steps_to_go, Change change, double time = 0, uint64_t seed = 1) {
  Random random(seed);
  while (steps_to_go > 0) {
    const Decision decision = tuner.Decide(time, here);
    EXPECT_GT(decision.seconds, 0);
    EXPECT_TRUE(tuner.space().Find(decision.setting).has_value());
    here = decision.setting;
    time += decision.seconds;
    const double steps = decision.seconds / SecondsPerUpdate(here) * std::exp(0.03 * random.Normal());
    Report report{.setting = here,
                  .time = time,
                  .seconds = decision.seconds,
                  .steps = steps,
                  .server_memory = 0.4,
                  .worker_memory = 0.3};
    change(report, here);
    tuner.Absorb(report).IgnoreError();
    if (report.ok) steps_to_go -= steps;
  }
  return time;
}

double BestSeconds(double steps) {
  double best = 1e9;
  for (int p = 1; p <= 4; ++p)
    for (int w = 1; w <= 8; ++w)
      for (int t = 1; t <= 2; ++t) best = std::min(best, SecondsPerUpdate({p, w, t}));
  return best * steps;
}

TEST(TunerTest, FindsAGoodSettingAndSaysWhy) {
  PriorCache priors;
  auto tuner = Tuner::Create(Job(), priors);
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  const double seconds = Play(*tuner, {1, 1, 1}, 60'000, [](Report&, Setting&) {});
  EXPECT_LT(seconds, 1.15 * BestSeconds(60'000));
  ASSERT_FALSE(tuner->records().empty());
  EXPECT_LT(tuner->records().size(), 25U);
  for (const DecisionRecord& record : tuner->records()) {
    EXPECT_NE(record.from, record.to);
    EXPECT_FALSE(record.why.empty());
    const std::string text = Explain(record, tuner->space());
    EXPECT_THAT(text, HasSubstr("Predicted"));
    EXPECT_THAT(text, HasSubstr(tuner->space().Text(record.to)));
  }
  EXPECT_NE(tuner->records().front().verdict, Verdict::kOpen);
  const auto beliefs = tuner->Beliefs(5);
  ASSERT_EQ(beliefs.size(), 5U);
  EXPECT_NEAR(beliefs[0].seconds_per_update, SecondsPerUpdate(beliefs[0].setting), 0.2 * beliefs[0].seconds_per_update);
}

TEST(TunerTest, EqualInputsGiveEqualDecisions) {
  PriorCache priors;
  std::vector<std::vector<Setting>> paths;
  for (int i = 0; i < 2; ++i) {
    auto tuner = Tuner::Create(Job(), priors);
    ASSERT_TRUE(tuner.ok());
    Play(*tuner, {1, 1, 1}, 20'000, [](Report&, Setting&) {});
    auto& path = paths.emplace_back();
    for (const DecisionRecord& record : tuner->records()) path.push_back(record.to);
  }
  EXPECT_EQ(paths[0], paths[1]);
}

// Whether a second server helps cannot be learned where all looks have two. Where turning every knob would leave fewer
// workers, which is slower for certain, a look at more of them takes its place.
TEST(TunerTest, AFirstLookTurnsEveryKnobThatItCanWithoutHarm) {
  const struct {
    Setting from, looks_at;
  } cases[] = {{{2, 1, 1}, {1, 2, 1}}, {{1, 1, 1}, {2, 2, 1}}, {{1, 2, 1}, {2, 3, 1}}, {{2, 4, 1}, {1, 4, 1}}};
  for (const auto& [from, looks_at] : cases) {
    PriorCache priors;
    JobDescription job = Job();
    job.space.knobs = {{.name = "servers", .low = 1, .high = 2},
                       {.name = "workers", .low = 1, .high = 4},
                       {.name = "threads", .low = 1, .high = 1}};
    job.space.current = from;
    job.costs.pods = 1;
    auto tuner = Tuner::Create(job, priors);
    ASSERT_TRUE(tuner.ok()) << tuner.status();
    ASSERT_TRUE(
        tuner
            ->Absorb(
                {.setting = from, .time = 10, .seconds = 10, .steps = 1000, .server_memory = 0.3, .worker_memory = 0.3})
            .ok());
    EXPECT_EQ(tuner->Decide(10, from).setting, looks_at) << ::testing::PrintToString(from);
  }
}

// Six servers and one worker were the first look of a job with two of each: it stood at a quarter of its speed.
TEST(TunerTest, AFirstLookIsNeverWhereItIsExpectedToBeMuchSlower) {
  const std::pair<int, int> kMost[] = {{2, 4}, {4, 8}, {16, 4}, {16, 16}};
  PriorCache priors;
  int looks = 0;
  for (const auto& [servers, workers] : kMost) {
    for (const Setting& from : {Setting{1, 1}, {1, 2}, {2, 2}, {2, 4}, {2, 1}}) {
      JobDescription job = Job();
      job.space.knobs = {{.name = "servers", .low = 1, .high = servers},
                         {.name = "workers", .low = 1, .high = workers}};
      job.space.current = from;
      job.costs.pods = 1;
      auto tuner = Tuner::Create(job, priors);
      ASSERT_TRUE(tuner.ok()) << tuner.status();
      // The first question may come before the first report.
      if (looks % 2 == 0) {
        ASSERT_TRUE(tuner->Absorb({.setting = from, .time = 10, .seconds = 10, .steps = 1000}).ok());
      }
      tuner->Decide(10, from);
      if (tuner->records().empty()) continue;
      const DecisionRecord& first = tuner->records().front();
      if (!first.why.starts_with("a first look")) continue;
      ++looks;
      EXPECT_GE(first.predicted.mean, std::log(0.9))
          << Explain(first, tuner->space()) << " of at most " << servers << ", " << workers;
    }
  }
  EXPECT_GE(looks, 8) << "a look is not given up where one without harm can be had";
}

// The first question comes before the first report, or the first reports come without memory.
TEST(TunerTest, BeforeMemoryIsKnownNoPodIsAskedToHoldMore) {
  for (const Setting& from : {Setting{8, 4, 2}, {8, 16, 4}, {6, 2, 1}, {1, 1, 1}, {8, 1, 1}}) {
    for (const bool reported : {false, true}) {
      PriorCache priors;
      JobDescription job = Job();
      job.space.knobs = {{"servers", 1, 8}, {"workers", 1, 16}, {"threads", 1, 4}};
      job.space.current = from;
      auto tuner = Tuner::Create(job, priors);
      ASSERT_TRUE(tuner.ok()) << tuner.status();
      if (reported) {
        ASSERT_TRUE(tuner->Absorb({.setting = from, .time = 5, .seconds = 5, .steps = 500}).ok());
      }
      const Setting to = tuner->Decide(5, from).setting;
      const std::string text = ::testing::PrintToString(from) + " -> " + ::testing::PrintToString(to);
      EXPECT_GE(to[0], from[0]) << text;
      EXPECT_LE(to[1] * from[0], from[1] * to[0]) << text;
      EXPECT_LE(to[2], from[2]) << text;
    }
  }
}

// At 5 servers and 4 workers a server is full to 0.88, at 7 and 9 to 0.85: 5 servers with 9 workers need 1.06. The job
// stayed at 7 and 9 only while it was on its way.
TEST(TunerTest, MemoryIsReadWhileAChangeIsInProgress) {
  PriorCache priors;
  JobDescription job = Job();
  job.space.knobs = {{"servers", 1, 8}, {"workers", 1, 16}};
  job.space.current = Setting{5, 4};
  auto tuner = Tuner::Create(job, priors);
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  for (int window = 1; window <= 12; ++window) {
    const bool changing = window > 6;
    ASSERT_TRUE(tuner
                    ->Absorb({.setting = changing ? Setting{7, 9} : Setting{5, 4},
                              .time = 5.0 * window,
                              .seconds = 5,
                              .steps = 500,
                              .server_memory = changing ? 0.85 : 0.88,
                              .worker_memory = 0.3,
                              .during_change = changing})
                    .ok());
  }
  EXPECT_NE(tuner->Decide(60, {5, 4}).setting, (Setting{5, 9}));
  int seen = 0;
  for (const SettingBelief& belief : tuner->Beliefs(1000)) {
    if (belief.setting == Setting{5, 9}) {
      ++seen;
      EXPECT_GT(belief.crash_probability, Tuner::kTrialCrashMax);
    } else if (belief.setting == Setting{8, 9}) {
      ++seen;
      EXPECT_LT(belief.crash_probability, 0.02) << "it was less full with a server fewer";
    } else if (belief.setting == Setting{7, 9}) {
      EXPECT_DOUBLE_EQ(belief.windows, 0) << "its speed is not measured by that";
    }
  }
  EXPECT_EQ(seen, 2);
}

TEST(DecisionRecordTest, SaysAPredictionOnceAndWhatCameOfIt) {
  const auto space = SearchSpace::Create({.knobs = {{.name = "servers", .low = 1, .high = 2}}});
  ASSERT_TRUE(space.ok());
  DecisionRecord record{.number = 3,
                        .time = 12,
                        .from = {1},
                        .to = {2},
                        .incumbent = {1},
                        .why = "may save 20 s of about 5 min left",
                        .predicted = {.mean = 0.2, .deviation = 0.1},
                        .cost_seconds = 2};
  EXPECT_EQ(Explain(record, *space),
            "At 12 s tried servers=2 (from servers=1): may save 20 s of about 5 min left. Predicted +22 % (±12 %) at a "
            "cost of 2.0 s; not judged yet.");
  record.measured = Gain{.mean = -0.005, .deviation = 0.01};
  record.verdict = Verdict::kKept;
  EXPECT_THAT(Explain(record, *space), HasSubstr("measured -0.5 % (±1.0 %); kept: as good as before as far as can be "
                                                 "measured"));
  record.measured = Gain{.mean = 0.1, .deviation = 0.01};
  EXPECT_THAT(Explain(record, *space), ::testing::EndsWith("; kept."));
  record.verdict = Verdict::kUnjudged;
  EXPECT_THAT(Explain(record, *space), HasSubstr("left before it was judged"));
}

TEST(TunerTest, ATrialThatIsExpectedToBeWorseSaysWhyItIsTried) {
  PriorCache priors;
  auto tuner = Tuner::Create(Job(), priors);
  ASSERT_TRUE(tuner.ok());
  Play(*tuner, {1, 1, 1}, 60'000, [](Report&, Setting&) {});
  int worse = 0;
  for (const DecisionRecord& record : tuner->records()) {
    EXPECT_THAT(record.why, ::testing::Not(HasSubstr("expected ")))
        << "the prediction stands in the record as a figure";
    if (record.kind != DecisionKind::kTrial || record.predicted.mean >= 0 || record.why.starts_with("a ")) continue;
    ++worse;
    EXPECT_THAT(record.why, HasSubstr("slower is likelier than faster"));
  }
  EXPECT_GE(worse, 1);
}

TEST(TunerTest, WhileAChangeIsUnderWayTheLossCountsAndTheSpeedDoesNot) {
  PriorCache priors;
  JobDescription job = Job();
  job.goal = {.kind = GoalKind::kLoss, .target = 0.5, .max_steps = 1e6};
  auto tuner = Tuner::Create(job, priors);
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  const Setting here = *job.space.current;
  for (int i = 0; i < 24; ++i) {
    const bool changing = i >= 4;
    ASSERT_TRUE(tuner
                    ->Absorb({.setting = here,
                              .time = 5.0 * (i + 1),
                              .seconds = 5,
                              .steps = changing ? 10.0 : 100.0,
                              .loss_mean = 0.3 + 2 / (1 + 0.1 * i),
                              .staleness = 0,
                              .during_change = changing})
                    .ok());
  }
  EXPECT_NE(tuner->Decide(120, here).outlook, Outlook::kTooEarly);
  for (const SettingBelief& belief : tuner->Beliefs(1000)) {
    if (belief.setting != here) continue;
    EXPECT_NEAR(belief.seconds_per_update, 0.05, 0.005);
    EXPECT_DOUBLE_EQ(belief.windows, 4);
  }
}

TEST(TunerTest, WhereUpdatesCountNobodyIsMadeToWait) {
  PriorCache priors;
  JobDescription job = Job();
  job.space.knobs = {{"workers", 1, 4}, {"slack", 0, kSlackAsync}};
  job.space.current = Setting{1, 0};
  auto tuner = Tuner::Create(job, priors);
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  Random random(3);
  Setting here = *job.space.current;
  double time = 0;
  for (int i = 0; i < 200; ++i) {
    const Decision decision = tuner->Decide(time, here);
    here = decision.setting;
    time += decision.seconds;
    const double rate = 20 * here[0] * (here[1] < kSlackAsync ? 0.4 : 1) * std::exp(0.2 * random.Normal());
    ASSERT_TRUE(
        tuner->Absorb({.setting = here, .time = time, .seconds = decision.seconds, .steps = decision.seconds * rate})
            .ok());
  }
  EXPECT_EQ(here, (Setting{4, kSlackAsync}));
  bool free = false;  // a setting in which no caller waits was kept
  for (const DecisionRecord& record : tuner->records()) {
    if (free) {
      EXPECT_EQ(record.to[1], kSlackAsync) << record.why;
    }
    free |= record.to[1] == kSlackAsync && record.verdict == Verdict::kKept;
  }
  EXPECT_TRUE(free);
}

TEST(TunerTest, ANewOperatorCarriesOnFromTheSavedState) {
  PriorCache priors;
  JobDescription job = Job();
  job.goal = {.kind = GoalKind::kLoss, .target = 0.3, .max_steps = 1e6};
  auto tuner = Tuner::Create(job, priors);
  ASSERT_TRUE(tuner.ok());
  double made = 0;
  Play(*tuner, {1, 1, 1}, 20'000, [&](Report& report, Setting&) {
    made += report.steps;
    report.loss_mean = 0.1 + 2 / (1 + made / 5000);
    report.staleness = report.setting[1] - 1.0;
  });
  const double now = tuner->records().back().time + 1e4;
  const std::string state = tuner->Save();
  EXPECT_LT(state.size(), 64U * 1024);
  PriorCache other;
  auto again = Tuner::Load(state, other);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->Save(), state);
  EXPECT_EQ(again->records().size(), tuner->records().size());
  Setting here = tuner->records().back().to;
  double time = now;
  for (int i = 0; i < 20; ++i) {
    const Decision a = tuner->Decide(time, here), b = again->Decide(time, here);
    ASSERT_EQ(a.setting, b.setting) << i;
    ASSERT_NEAR(a.seconds, b.seconds, 1e-6 * a.seconds);
    ASSERT_EQ(a.why, b.why);
    here = a.setting;
    time += a.seconds;
    const Report report{.setting = here,
                        .time = time,
                        .seconds = a.seconds,
                        .steps = a.seconds / SecondsPerUpdate(here),
                        .loss_mean = 0.4,
                        .staleness = 2};
    ASSERT_TRUE(tuner->Absorb(report).ok());
    ASSERT_TRUE(again->Absorb(report).ok());
  }
}

TEST(TunerTest, AShorterStateGivesUpTheOldestRecords) {
  PriorCache priors;
  auto tuner = Tuner::Create(Job(), priors);
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  Play(*tuner, {1, 1, 1}, 20'000, [](Report&, Setting&) {});
  ASSERT_GT(tuner->records().size(), 2U);
  auto again = Tuner::Load(tuner->Save(2), priors);
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_EQ(again->records().size(), 2U);
  EXPECT_EQ(again->records()[0].number, tuner->records().rbegin()[1].number);
  EXPECT_EQ(again->records()[1].number, tuner->records().back().number);
  EXPECT_EQ(again->Incumbent(), tuner->Incumbent());
}

TEST(TunerTest, DamagedStatesAreRefusedWithAReason) {
  PriorCache priors;
  auto tuner = Tuner::Create(Job(), priors);
  ASSERT_TRUE(tuner.ok());
  Play(*tuner, {1, 1, 1}, 3000, [](Report&, Setting&) {});
  const std::string state = tuner->Save();
  for (size_t cut = 0; cut < state.size(); cut += 97) EXPECT_FALSE(Tuner::Load(state.substr(0, cut), priors).ok());
  EXPECT_FALSE(Tuner::Load("{}", priors).ok());
  std::string elsewhere = state;
  const size_t at = elsewhere.find("\"blocks\":[[");
  ASSERT_NE(at, std::string::npos);
  elsewhere.insert(at + 11, "99");  // a setting that does not exist
  EXPECT_FALSE(Tuner::Load(elsewhere, priors).ok());
}

TEST(TunerTest, LyingReportsAreCountedAndPassedOver) {
  PriorCache priors;
  auto tuner = Tuner::Create(Job(), priors);
  ASSERT_TRUE(tuner.ok());
  const Report good{.setting = {1, 1, 1}, .time = 100, .seconds = 5, .steps = 20};
  ASSERT_TRUE(tuner->Absorb(good).ok());
  const auto with = [&](auto change) {
    Report report = good;
    report.time = 105;
    change(report);
    return report;
  };
  const std::vector<Report> lies = {
      with([](Report& r) { r.steps = -1; }),          with([](Report& r) { r.steps = std::nan(""); }),
      with([](Report& r) { r.seconds = 0; }),         with([](Report& r) { r.seconds = INFINITY; }),
      with([](Report& r) { r.time = 50; }),           with([](Report& r) { r.time = std::nan(""); }),
      with([](Report& r) { r.staleness = -3; }),      with([](Report& r) { r.server_memory = std::nan(""); }),
      with([](Report& r) { r.setting = {9, 9, 9}; }), with([](Report& r) { r.setting = {1}; })};
  for (const Report& lie : lies) {
    const Status status = tuner->Absorb(lie);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(Message(status)), HasSubstr("report ignored"));
  }
  EXPECT_EQ(tuner->rejected_reports(), lies.size());
  EXPECT_TRUE(tuner->Absorb(with([](Report& r) { r.loss_mean = std::nan(""); })).ok()) << "its steps are true";
  const Decision decision = tuner->Decide(std::nan(""), {77, 1});
  EXPECT_TRUE(tuner->space().Find(decision.setting).has_value());
  EXPECT_TRUE(std::isfinite(decision.seconds));
}

TEST(TunerTest, ACrashedSettingIsNeverProposedAgain) {
  PriorCache priors;
  auto tuner = Tuner::Create(Job(), priors);
  ASSERT_TRUE(tuner.ok());
  std::vector<Setting> crashed;
  Setting last{1, 1, 1};
  Play(*tuner, {1, 1, 1}, 60'000, [&](Report& report, Setting& here) {
    for (const Setting& setting : crashed) EXPECT_NE(report.setting, setting);
    report.server_memory = report.worker_memory = std::nullopt;
    if (report.setting[1] >= 6) {  // out of memory, unannounced
      report.ok = false;
      crashed.push_back(report.setting);
      here = last;
    } else {
      last = here;
    }
  });
  EXPECT_GE(crashed.size(), 1U);
  EXPECT_LE(crashed.size(), 5U);
}

// Above four workers hardly any progress is made, and one window's loss says nothing: its noise is some thirty times
// what it falls.
double SecondsWithACollapse(bool probes, uint64_t seed, double max_steps = 1e6) {
  PriorCache priors;
  JobDescription job = Job();
  job.space.current = Setting{4, 8, 2};
  job.goal = {.kind = GoalKind::kLoss, .target = 0.5, .max_steps = max_steps};
  job.parts.probe = probes;
  auto tuner = Tuner::Create(job, priors);
  EXPECT_TRUE(tuner.ok());
  constexpr double kEffective = 30'000;
  Random random(seed);
  Setting here = *job.space.current;
  double time = 0, made = 0;
  while (made < kEffective && time < 100'000) {
    const Decision decision = tuner->Decide(time, here);
    here = decision.setting;
    for (double left = decision.seconds; left > 0.1; left -= job.window_seconds) {
      const double seconds = std::min(left, job.window_seconds);
      const double steps = seconds / SecondsPerUpdate(here) * std::exp(0.03 * random.Normal());
      made += steps * (here[1] > 4 ? 0.08 : 1);
      time += seconds;
      const double loss = 0.3 + 1.2 / (1 + 5 * made / kEffective);
      EXPECT_TRUE(tuner
                      ->Absorb({.setting = here,
                                .time = time,
                                .seconds = seconds,
                                .steps = steps,
                                .loss_mean = loss * (1 + 0.05 * random.Normal()),
                                .staleness = here[1] - 1.0,
                                .server_memory = 0.4,
                                .worker_memory = 0.3})
                      .ok());
    }
  }
  return time;
}

TEST(TunerTest, ACollapseThatTheLossCannotShowIsFoundByProbes) {
  double with = 0, without = 0;
  for (const uint64_t seed : {1, 2, 3, 4}) {
    with += SecondsWithACollapse(true, seed);
    without += SecondsWithACollapse(false, seed);
  }
  EXPECT_LT(with, 0.8 * without);
}

// Without the goal the job would end at its limit: that is no reason to leave it where it makes no progress.
TEST(TunerTest, ALimitOnStepsDoesNotHideACollapse) {
  double limited = 0, passed = 0, unlimited = 0;
  for (const uint64_t seed : {1, 2, 3, 4}) {
    unlimited += SecondsWithACollapse(true, seed);
    limited += SecondsWithACollapse(true, seed, 40'000);
    passed += SecondsWithACollapse(true, seed, 2'000);
  }
  EXPECT_LT(limited, 1.5 * unlimited);
  EXPECT_LT(passed, 1.5 * unlimited) << "a limit that was passed is none";
}

TEST(TunerTest, GoalsInEpochsAndMetricsHaveARemainingTime) {
  PriorCache priors;
  JobDescription job = Job();
  job.goal = {.kind = GoalKind::kEpochs, .target = 4, .steps_per_epoch = 10'000};
  auto tuner = Tuner::Create(job, priors);
  ASSERT_TRUE(tuner.ok());
  ASSERT_TRUE(tuner->Absorb({.setting = {2, 4, 2}, .time = 10, .seconds = 10, .steps = 1000}).ok());
  tuner->Decide(10, {2, 4, 2});
  const Decision decision = tuner->Decide(10, {2, 4, 2});
  ASSERT_TRUE(decision.remaining.has_value());
  EXPECT_NEAR(decision.remaining->mid, 390, 40);
  EXPECT_LT(decision.remaining->low, decision.remaining->high);

  job.goal = {.kind = GoalKind::kMetric, .target = 0.8};
  auto metric = Tuner::Create(job, priors);
  ASSERT_TRUE(metric.ok());
  double time = 0;
  for (int i = 0; i < 60; ++i)
    ASSERT_TRUE(metric
                    ->Absorb({.setting = {2, 4, 2},
                              .time = time += 5,
                              .seconds = 5,
                              .steps = 500,
                              .metric = 0.9 * (1 - std::exp(-i / 60.0))})
                    .ok());
  const Decision rising = metric->Decide(time, {2, 4, 2});
  ASSERT_TRUE(rising.remaining.has_value());
  EXPECT_NEAR(rising.remaining->mid, 5 * (60 * std::log(9.0) - 60), 150);
}

// An error rate, a perplexity: reported by the program now and then, and reached from above.
TEST(TunerTest, AMetricThatIsToFallHasARemainingTime) {
  PriorCache priors;
  JobDescription job = Job();
  job.goal = {.kind = GoalKind::kMetric, .target = 0.3, .metric_falls = true};
  auto tuner = Tuner::Create(job, priors);
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  double time = 0;
  for (int i = 0; i < 60; ++i) {
    Report report{.setting = {2, 4, 2}, .time = time += 5, .seconds = 5, .steps = 500, .loss_mean = 7};
    if (i % 2 == 0) report.metric = 0.1 + 0.9 * std::exp(-i / 60.0);
    ASSERT_TRUE(tuner->Absorb(report).ok());
  }
  const Decision falling = tuner->Decide(time, {2, 4, 2});
  ASSERT_TRUE(falling.remaining.has_value());
  EXPECT_NEAR(falling.remaining->mid, 5 * (60 * std::log(4.5) - 60), 100);
}

TEST(TunerTest, AShortJobIsLeftAlone) {
  PriorCache priors;
  JobDescription job = Job();
  job.space.current = Setting{3, 4, 1};
  job.goal.target = 400;  // some windows
  auto tuner = Tuner::Create(job, priors);
  ASSERT_TRUE(tuner.ok());
  Setting here{3, 4, 1};
  double time = 0;
  for (double steps = 400; steps > 0;) {
    const Decision decision = tuner->Decide(time, here);
    here = decision.setting;
    time += decision.seconds;
    const double made = decision.seconds / SecondsPerUpdate(here);
    tuner->Absorb({.setting = here, .time = time, .seconds = decision.seconds, .steps = made}).IgnoreError();
    steps -= made;
  }
  EXPECT_LE(tuner->records().size(), 1U);
}

TEST(TunerTest, ImpossibleJobsAreRefused) {
  PriorCache priors;
  const auto refused = [&](auto change) {
    JobDescription job = Job();
    change(job);
    return Tuner::Create(job, priors).status().code() == StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](JobDescription& j) { j.window_seconds = 0; }));
  EXPECT_TRUE(refused([](JobDescription& j) { j.goal.target = std::nan(""); }));
  EXPECT_TRUE(refused([](JobDescription& j) { j.goal.max_steps = -1; }));
  EXPECT_TRUE(refused([](JobDescription& j) { j.goal.max_seconds = 0; }));
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const auto endless = [](JobDescription& j) { j.goal = {.kind = GoalKind::kSteps, .target = kNever}; };
  EXPECT_TRUE(refused(endless));
  EXPECT_FALSE(refused([&](JobDescription& j) {
    endless(j);
    j.goal.max_seconds = 60;
  })) << "it ends by its time";
  EXPECT_TRUE(refused([](JobDescription& j) { j.costs.pods = -1; }));
  EXPECT_TRUE(refused([](JobDescription& j) { j.goal.kind = GoalKind::kEpochs; }));
  EXPECT_TRUE(refused([](JobDescription& j) { j.space.knobs.clear(); }));
}

}  // namespace
}  // namespace attune::tuner::tuner_test
