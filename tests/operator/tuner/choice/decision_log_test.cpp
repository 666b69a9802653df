#include "operator/tuner/choice/decision_log.h"

#include <gtest/gtest.h>

#include "tests/operator/tuner/belief/measured_job.h"

namespace attune::tuner::decision_log_test {
namespace {

// A job at {1, 1} that tried {2, 4}, which was measured at `steps_per_second`.
struct Tried : MeasuredJob {
  explicit Tried(double steps_per_second) {
    Measure({1, 1}, 10, 5);
    const View view = LookFrom({1, 1});
    log.Add(evidence, view, DecisionKind::kTrial, {.setting = Id({2, 4}), .cost = 3}, Id({1, 1}), "a reason");
    if (steps_per_second > 0) Measure({2, 4}, steps_per_second, 5);
  }
  Verdict Judge(const Setting& current, const Setting& next, DecisionKind kind) {
    log.Judge(evidence, LookFrom(current), Id(next), kind);
    return log.records().back().verdict;
  }
  DecisionLog log;
};

TEST(DecisionLogTest, AChangeIsNumberedAndSaysWhatItWasFor) {
  Tried job(0);
  const DecisionRecord& record = job.log.records().back();
  EXPECT_EQ(record.number, 1u);
  EXPECT_EQ(record.from, (Setting{1, 1}));
  EXPECT_EQ(record.to, (Setting{2, 4}));
  EXPECT_EQ(record.why, "a reason");
  EXPECT_DOUBLE_EQ(record.cost_seconds, 3);
  EXPECT_EQ(record.verdict, Verdict::kOpen);
  EXPECT_EQ(job.log.next_number(), 2u);
}

TEST(DecisionLogTest, ATrialIsJudgedWhenItsSettingIsLeftOrKept) {
  using enum DecisionKind;
  Tried slower(5), faster(30), open(30);
  EXPECT_EQ(slower.Judge({2, 4}, {1, 1}, kKeep), Verdict::kRejected);
  EXPECT_EQ(faster.Judge({2, 4}, {3, 8}, kTrial), Verdict::kKept) << "the best so far, and a look further";
  EXPECT_EQ(open.Judge({2, 4}, {2, 4}, kTrial), Verdict::kOpen) << "it is still being measured";
  EXPECT_EQ(open.Judge({2, 4}, {2, 4}, kKeep), Verdict::kKept);
  ASSERT_TRUE(open.log.records().back().measured);
  EXPECT_GT(open.log.records().back().measured->mean, 0.5);
}

TEST(DecisionLogTest, ACrashIsAVerdict) {
  Tried job(0);
  job.Crash({2, 4});
  EXPECT_EQ(job.Judge({2, 4}, {1, 1}, DecisionKind::kKeep), Verdict::kCrashed);
}

TEST(DecisionLogTest, GoingBackFromWhatWasAdoptedIsARollBack) {
  MeasuredJob job;
  job.Measure({1, 1}, 10, 5);
  DecisionLog log;
  log.Add(job.evidence, job.LookFrom({1, 1}), DecisionKind::kKeep, {.setting = job.Id({2, 4})}, -1, "");
  job.Measure({2, 4}, 5, 5);
  log.Judge(job.evidence, job.LookFrom({2, 4}), job.Id({1, 1}), DecisionKind::kKeep);
  EXPECT_EQ(log.records().back().verdict, Verdict::kRolledBack);
}

TEST(DecisionLogTest, CautionRisesWithTrialsThatWereNotTakenAndWithChanges) {
  DecisionLog calm, failed, restless;
  EXPECT_DOUBLE_EQ(calm.Caution(0), kCaution);
  std::vector<DecisionRecord> records(12);
  for (DecisionRecord& record : records) record.verdict = Verdict::kRejected;
  failed.Load(records, 13);
  EXPECT_DOUBLE_EQ(failed.Caution(1000), 2 * kCaution) << "six of twelve count";
  records.back().verdict = Verdict::kKept;
  failed.Load(records, 13);
  EXPECT_DOUBLE_EQ(failed.Caution(1000), kCaution) << "the last trial was taken";
  restless.Load({}, 25);
  EXPECT_DOUBLE_EQ(restless.Caution(0), 4 * kCaution) << "24 changes of 12 that a young job may make";
  EXPECT_DOUBLE_EQ(restless.Caution(480), kCaution);
}

TEST(DecisionLogTest, OnlyTheNewestAreRemembered) {
  MeasuredJob job;
  job.Measure({1, 1}, 10, 1);
  const View view = job.LookFrom({1, 1});
  DecisionLog log;
  for (int i = 0; i < 100; ++i) log.Add(job.evidence, view, DecisionKind::kKeep, {.setting = job.Id({2, 4})}, -1, "");
  EXPECT_EQ(log.records().size(), DecisionLog::kRecordsMax);
  EXPECT_EQ(log.records().back().number, 100u);
}

}  // namespace
}  // namespace attune::tuner::decision_log_test
