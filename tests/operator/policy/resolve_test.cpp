// Several policies and one job: what is in force, where it came from, what it overruled.
#include "operator/policy/resolve.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace attune::policy::resolve_test {
namespace {

using api::Policy;
using api::TuningMode;
using std::chrono_literals::operator""s, std::chrono_literals::operator""h;

const WallTime kNoon = WallTime() + 1'784'116'800s;  // Wednesday, 2026-07-15 12:00 UTC

Policy Named(const std::string& name, const std::string& name_space = "") {
  Policy policy;
  policy.name = name;
  policy.name_space = name_space;
  return policy;
}

JobFacts Job(TuningMode mode = TuningMode::kAuto) {
  JobFacts job{
      .name_space = "research", .labels = {{"priority", "low"}}, .namespace_labels = api::Labels{}, .tuning = {}};
  job.tuning.mode = mode;
  return job;
}

api::KnobBounds& Workers(Policy& policy) {
  return policy.spec.knobs.at(static_cast<size_t>(api::PolicyKnob::kWorkers));
}

const FieldInForce* RowOf(const Effective& effective, const std::string& field) {
  const auto at = std::ranges::find(effective.fields, field, &FieldInForce::field);
  return at == effective.fields.end() ? nullptr : &*at;
}

TEST(Resolve, WithoutPoliciesAJobIsTunedAsItSays) {
  const Effective effective = Resolve(Job(), {}, kNoon);
  EXPECT_EQ(effective.mode, TuningMode::kAuto);
  EXPECT_TRUE(effective.policies.empty());
  EXPECT_TRUE(effective.conflicts.empty());
  EXPECT_EQ(RowOf(effective, "mode")->from, "the job");
}

TEST(Resolve, TheStricterBoundWinsAndNamesWhatItOverruled) {
  Policy wide = Named("wide"), narrow = Named("narrow", "research");
  Workers(wide).max = 16;
  Workers(narrow).max = 4;
  JobFacts job = Job();
  job.tuning.workers.max = 8;
  const Effective effective = Resolve(job, {wide, narrow}, kNoon);
  EXPECT_EQ(effective.Of(api::PolicyKnob::kWorkers).max, 4);
  const FieldInForce* row = RowOf(effective, "knobs.workers.max");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->from, "TuningPolicy research/narrow");
  EXPECT_EQ(row->overruled, (std::vector<Overruled>{{"16", "ClusterTuningPolicy wide"}, {"8", "the job"}}));
}

TEST(Resolve, AnEmptyRangeIsAConflictThatNamesBothPolicies) {
  Policy high = Named("high"), low = Named("low");
  Workers(high).min = 8;
  Workers(low).max = 4;
  const Effective effective = Resolve(Job(), {high, low}, kNoon);
  EXPECT_TRUE(effective.Of(api::PolicyKnob::kWorkers).fixed);
  ASSERT_EQ(effective.conflicts.size(), 1U);
  EXPECT_EQ(effective.conflicts[0].between,
            (std::vector<std::string>{"ClusterTuningPolicy high", "ClusterTuningPolicy low"}));
  EXPECT_EQ(effective.conflicts[0].text,
            "knobs.workers: ClusterTuningPolicy high asks for at least 8, ClusterTuningPolicy low for at most 4; the "
            "job keeps its present setting until one of them is changed");
}

TEST(Resolve, AModeThatIsNotAllowedBecomesTheNextLowerOne) {
  Policy policy = Named("a");
  policy.spec.allowed_modes = {TuningMode::kRecommend, TuningMode::kInPlaceOnly};
  EXPECT_EQ(Resolve(Job(TuningMode::kAuto), {policy}, kNoon).mode, TuningMode::kInPlaceOnly);
  EXPECT_EQ(Resolve(Job(TuningMode::kInitial), {policy}, kNoon).mode, TuningMode::kInPlaceOnly);
  EXPECT_EQ(Resolve(Job(TuningMode::kOff), {policy}, kNoon).mode, TuningMode::kOff);
  policy.spec.allowed_modes = {TuningMode::kAuto};
  EXPECT_EQ(Resolve(Job(TuningMode::kInitial), {policy}, kNoon).mode, TuningMode::kInitial);
  EXPECT_EQ(Resolve(Job(TuningMode::kRecommend), {policy}, kNoon).mode, TuningMode::kOff);
}

TEST(Resolve, PoliciesThatAllowNoCommonModeAreAConflict) {
  Policy look = Named("look"), act = Named("act");
  look.spec.allowed_modes = {TuningMode::kRecommend};
  act.spec.allowed_modes = {TuningMode::kAuto};
  const Effective effective = Resolve(Job(), {look, act}, kNoon);
  EXPECT_EQ(effective.mode, TuningMode::kOff);
  ASSERT_EQ(effective.conflicts.size(), 1U);
  EXPECT_EQ(effective.conflicts[0].text,
            "no mode is left but Off: ClusterTuningPolicy act allows Auto, ClusterTuningPolicy look allows Recommend");
}

TEST(Resolve, AWindowCapsTheModeWhileItHolds) {
  Policy policy = Named("workday");
  policy.spec.windows = {{"Mon-Fri 08:00-20:00 UTC", TuningMode::kRecommend}};
  const Effective at_noon = Resolve(Job(), {policy}, kNoon);
  EXPECT_EQ(at_noon.mode, TuningMode::kRecommend);
  EXPECT_EQ(RowOf(at_noon, "mode")->from, "ClusterTuningPolicy workday, window Mon-Fri 08:00-20:00 UTC");
  EXPECT_EQ(at_noon.changes_at, kNoon + 8h);
  EXPECT_EQ(Resolve(Job(), {policy}, kNoon + 8h).mode, TuningMode::kAuto);
  EXPECT_EQ(Resolve(Job(), {policy}, kNoon + 8h - 1s).mode, TuningMode::kRecommend);
}

TEST(Resolve, AScheduleThatCannotBeReadHoldsAlways) {
  Policy policy = Named("workday");
  policy.spec.windows = {{"working hours", TuningMode::kOff}};
  EXPECT_EQ(Resolve(Job(), {policy}, kNoon).mode, TuningMode::kOff);
}

TEST(Resolve, DefaultsCountOnlyWhereTheJobIsSilentAndTheLowestOfThemWins) {
  Policy eager = Named("eager"), careful = Named("careful");
  eager.spec.default_mode = TuningMode::kAuto;
  careful.spec.default_mode = TuningMode::kRecommend;
  JobFacts job = Job(TuningMode::kOff);
  EXPECT_EQ(Resolve(job, {eager, careful}, kNoon).mode, TuningMode::kOff);
  job.states_mode = false;
  EXPECT_EQ(Resolve(job, {eager}, kNoon).mode, TuningMode::kAuto);
  EXPECT_EQ(Resolve(job, {eager, careful}, kNoon).mode, TuningMode::kRecommend);
}

TEST(Resolve, ABudgetOfAPolicyTurnsTimeIntoTimeUnderBudget) {
  Policy policy = Named("cheap");
  policy.spec.budget_per_job = 20;
  policy.spec.core_hour = 0.04;
  JobFacts job = Job();
  const Effective effective = Resolve(job, {policy}, kNoon);
  const api::Tuning tuning = Restricted(job.tuning, effective);
  EXPECT_EQ(tuning.objective.kind, api::ObjectiveKind::kTimeUnderBudget);
  EXPECT_EQ(tuning.objective.budget, 20);
  EXPECT_EQ(tuning.objective.core_hour, 0.04);
}

// The row says what is in force, and not what the budget has replaced.
TEST(Resolve, TheObjectiveThatABudgetMakesIsShownWithWhatItOverruled) {
  Policy policy = Named("cheap");
  policy.spec.budget_per_job = 20;
  JobFacts job = Job();
  const FieldInForce* row = nullptr;
  const Effective stated = Resolve(job, {policy}, kNoon);
  ASSERT_NE(row = RowOf(stated, "objective"), nullptr);
  EXPECT_EQ(
      *row,
      (FieldInForce{"objective", "timeUnderBudget", "the budget of ClusterTuningPolicy cheap", {{"time", "the job"}}}));
  job.states_objective = false;
  EXPECT_EQ(Resolve(job, {policy}, kNoon).fields, stated.fields) << "silence means time";
  job.states_objective = true;
  job.tuning.objective.kind = api::ObjectiveKind::kCost;
  const Effective cost = Resolve(job, {policy}, kNoon);
  ASSERT_NE(row = RowOf(cost, "objective"), nullptr);
  EXPECT_EQ(row->value, "cost");
  const Effective none = Resolve(Job(), {}, kNoon);
  ASSERT_NE(row = RowOf(none, "objective"), nullptr);
  EXPECT_EQ(*row, (FieldInForce{"objective", "time", "the job", {}}));
}

TEST(Resolve, FindingsThatActAreHeldToTheMode) {
  Policy policy = Named("look");
  policy.spec.allowed_modes = {TuningMode::kRecommend};
  JobFacts job = Job();
  job.tuning.findings.memory = api::FindingPolicy::kAct;
  job.tuning.findings.straggler = api::FindingPolicy::kOff;
  const api::Tuning tuning = Restricted(job.tuning, Resolve(job, {policy}, kNoon));
  EXPECT_EQ(tuning.findings.memory, api::FindingPolicy::kByMode);
  EXPECT_EQ(tuning.findings.straggler, api::FindingPolicy::kOff);
  EXPECT_EQ(Restricted(job.tuning, Resolve(job, {}, kNoon)).findings.memory, api::FindingPolicy::kAct);
}

TEST(Resolve, SelectorsOfJobsNamespacesAndTheOwnNamespace) {
  Policy own = Named("own", "research"), other = Named("other", "production"), tier = Named("tier"),
         high = Named("high");
  tier.spec.namespaces.match_labels = {{"tier", "research"}};
  high.spec.jobs.match_labels = {{"priority", "high"}};
  JobFacts job = Job();
  const std::vector<Policy> all = {own, other, tier, high, Named("everything")};
  EXPECT_EQ(Resolve(job, all, kNoon).policies,
            (std::vector<std::string>{"ClusterTuningPolicy everything", "TuningPolicy research/own"}));
  job.namespace_labels = api::Labels{{"tier", "research"}};
  EXPECT_EQ(Resolve(job, all, kNoon).policies.size(), 3U);
  job.namespace_labels.reset();  // not readable: the stricter reading
  EXPECT_EQ(Resolve(job, all, kNoon).policies.size(), 3U);
  tier.spec.on_violation = api::OnViolation::kShrinkNow;
  EXPECT_FALSE(Resolve(job, {tier}, kNoon).shrinks_now) << "it may be about other namespaces";
  job.namespace_labels = api::Labels{{"tier", "research"}};
  EXPECT_TRUE(Resolve(job, {tier}, kNoon).shrinks_now);
}

}  // namespace
}  // namespace attune::policy::resolve_test
