// What the tuner asks for against the bounds of policies, and jobs that are brought into them.
#include "operator/controller/policies/bounds.h"

#include <gtest/gtest.h>

namespace attune::controller::bounds_test {
namespace {

policy::Effective WorkersBetween(std::optional<int64_t> min, std::optional<int64_t> max) {
  policy::Effective rules;
  rules.policies = {"ClusterTuningPolicy a"};
  rules.knobs.at(static_cast<size_t>(api::PolicyKnob::kWorkers)) = {.min = min, .max = max};
  return rules;
}

TEST(PolicyBounds, NoChangeLeadsOutOfThem) {
  const policy::Effective rules = WorkersBetween(2, 4);
  EXPECT_TRUE(KeepsBounds(rules, {1, 3}, {1, 4}));
  EXPECT_FALSE(KeepsBounds(rules, {1, 3}, {1, 5}));
  EXPECT_FALSE(KeepsBounds(rules, {1, 3}, {1, 1}));
  EXPECT_TRUE(KeepsBounds(rules, {1, 3}, {8, 3})) << "of another knob";
}

TEST(PolicyBounds, AJobOutsideMayStayAndComeNearer) {
  const policy::Effective rules = WorkersBetween(2, 4);
  EXPECT_TRUE(KeepsBounds(rules, {1, 8}, {2, 8}));
  EXPECT_TRUE(KeepsBounds(rules, {1, 8}, {1, 6}));
  EXPECT_FALSE(KeepsBounds(rules, {1, 8}, {1, 9}));
}

TEST(PolicyBounds, AKnobThatIsForbiddenOrInConflictDoesNotMove) {
  policy::Effective rules = WorkersBetween({}, {});
  rules.knobs.at(static_cast<size_t>(api::PolicyKnob::kWorkers)).fixed = true;
  EXPECT_FALSE(KeepsBounds(rules, {1, 3}, {1, 2}));
  EXPECT_TRUE(KeepsBounds(rules, {1, 3}, {2, 3}));
}

Observed JobWith(int32_t workers, policy::Effective rules) {
  Observed observed;
  observed.job.spec.servers.replicas = 2;
  observed.job.spec.workers.replicas = workers;
  observed.policy = std::move(rules);
  return observed;
}

TEST(PolicyBounds, KeepLeavesWhatRunsAndShrinkNowBringsItIn) {
  policy::Effective rules = WorkersBetween({}, 4);
  EXPECT_FALSE(IntoBounds(JobWith(8, rules)));
  rules.shrinks_now = true;
  EXPECT_EQ(IntoBounds(JobWith(8, rules)), (JobSetting{.servers = 2, .workers = 4}));
  EXPECT_FALSE(IntoBounds(JobWith(4, rules)));
}

TEST(PolicyBounds, InAConflictNothingIsShrunk) {
  policy::Effective rules = WorkersBetween(8, 4);
  rules.shrinks_now = true;
  rules.knobs.at(static_cast<size_t>(api::PolicyKnob::kWorkers)).fixed = true;
  EXPECT_FALSE(IntoBounds(JobWith(16, rules)));
}

}  // namespace
}  // namespace attune::controller::bounds_test
