// Which ends of pods are failures, by the rules of the job (spec.runPolicy.podFailurePolicy).
#include "operator/api/failure/failure_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "operator/controller/plan/failure.h"
#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::failure_policy_test {
namespace {

using api::FailureAction;
using api::FailureRole;
using api::FailureRule;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

FailureRule OnCodes(FailureAction action, std::vector<int32_t> codes, bool in = true) {
  return {.action = action,
          .roles = {},
          .exit_codes = api::NumberPattern{in, std::move(codes)},
          .signals = {},
          .pod_conditions = {}};
}
FailureRule OnSignals(FailureAction action, std::vector<int32_t> signals) {
  return {.action = action,
          .roles = {},
          .exit_codes = {},
          .signals = api::NumberPattern{true, std::move(signals)},
          .pod_conditions = {}};
}
FailureRule OnCondition(FailureAction action, std::string type, std::string status = "True") {
  return {.action = action,
          .roles = {},
          .exit_codes = {},
          .signals = {},
          .pod_conditions = {{std::move(type), std::move(status)}}};
}
FailureRule Of(FailureRole role, FailureRule rule) {
  rule.roles = {role};
  return rule;
}

ObservedPod Ended(int32_t code) {
  ObservedPod pod;
  pod.name = "a-worker-0";
  pod.index = 0;
  pod.container.state = RoleContainer::State::kTerminated;
  pod.container.exit_code = code;
  return pod;
}
ObservedPod Evicted() {
  ObservedPod pod = Ended(137);
  pod.phase = PodPhase::kFailed;
  pod.reason = "Evicted";
  pod.disruption_target = true;
  pod.conditions["DisruptionTarget"] = "True";
  return pod;
}
ObservedPod OutOfSight() {
  ObservedPod pod = Ended(137);
  pod.container.reason = "ContainerStatusUnknown";
  return pod;
}

TEST(FailureMeaning, TheFirstRuleThatMatchesDecides) {
  const FailureRule fail42 = OnCodes(FailureAction::kFailJob, {42});
  struct {
    const char* why;
    std::vector<FailureRule> rules;
    ObservedPod pod;
    FailureAction want;
  } cases[] = {
      {"no rule: a failure", {}, Ended(1), FailureAction::kRestart},
      {"no rule: the platform's doing is none", {}, Evicted(), FailureAction::kIgnore},
      {"the code that is named", {fail42}, Ended(42), FailureAction::kFailJob},
      {"another code", {fail42}, Ended(41), FailureAction::kRestart},
      {"none of the codes", {OnCodes(FailureAction::kFailJob, {42}, false)}, Ended(41), FailureAction::kFailJob},
      {"one of those that are left out",
       {OnCodes(FailureAction::kFailJob, {42}, false)},
       Ended(42),
       FailureAction::kRestart},
      {"an end with 0 matches no code",
       {OnCodes(FailureAction::kFailJob, {42}, false)},
       Ended(0),
       FailureAction::kRestart},
      {"a signal", {OnSignals(FailureAction::kIgnore, {9})}, Ended(137), FailureAction::kIgnore},
      {"a signal's code is a code, too", {OnCodes(FailureAction::kIgnore, {137})}, Ended(137), FailureAction::kIgnore},
      {"another signal", {OnSignals(FailureAction::kIgnore, {9})}, Ended(139), FailureAction::kRestart},
      {"a code is no signal", {OnSignals(FailureAction::kIgnore, {9})}, Ended(9), FailureAction::kRestart},
      {"what no machine confirmed has no code",
       {OnCodes(FailureAction::kFailJob, {137})},
       OutOfSight(),
       FailureAction::kIgnore},
      {"a condition", {OnCondition(FailureAction::kRestart, "DisruptionTarget")}, Evicted(), FailureAction::kRestart},
      {"a condition with another status",
       {OnCondition(FailureAction::kFailJob, "DisruptionTarget", "False")},
       Evicted(),
       FailureAction::kIgnore},
      {"the order counts", {OnCodes(FailureAction::kIgnore, {42}), fail42}, Ended(42), FailureAction::kIgnore},
      {"of servers only", {Of(FailureRole::kServer, fail42)}, Ended(42), FailureAction::kRestart},
      {"of workers only", {Of(FailureRole::kWorker, fail42)}, Ended(42), FailureAction::kFailJob},
  };
  for (const auto& c : cases) {
    Observed observed;
    observed.job.spec.run_policy.failure_rules = c.rules;
    EXPECT_EQ(MeaningOf(observed, c.pod).action, c.want) << c.why;
  }
}

FakeCluster RunningUnder(std::vector<FailureRule> rules, int32_t servers = 2) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(servers).Workers(2).Claim("models"));
  cluster.job().spec.run_policy.failure_rules = std::move(rules);
  return cluster;
}

TEST(FailurePolicy, AnEndThatNoRestartCuresFailsTheJobAtOnceAndSaysWhichRule) {
  FakeCluster cluster = RunningUnder({OnSignals(FailureAction::kIgnore, {9}), OnCodes(FailureAction::kFailJob, {42})});
  cluster.Exit("a-worker-1", 42);
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed),
              AllOf(StartsWith("True/PodFailurePolicy"), HasSubstr("a-worker-1 exited with code 42"),
                    HasSubstr("rule 2 of spec.runPolicy.podFailurePolicy says FailJob")));
  EXPECT_EQ(cluster.status().servers.failed, 0) << "a worker has failed";
}

TEST(FailurePolicy, WhatIsIgnoredIsReplacedAgainAndAgainWithPausesAndCountsForNothing) {
  FakeCluster cluster = RunningUnder({OnCodes(FailureAction::kIgnore, {3})});
  cluster.job().spec.run_policy.backoff_limit = 1;
  std::set<std::string> uids;
  for (int time = 0; time < 5; ++time) {
    const std::string uid(kube::Uid(cluster.pod("a-worker-0")));
    uids.insert(uid);
    cluster.Exit("a-worker-0", 3);
    cluster.Settle();
    ASSERT_EQ(kube::Uid(cluster.pod("a-worker-0")), uid) << "the pause";
    cluster.Advance(cluster.options.restart_backoff_max);
    cluster.Settle();
    ASSERT_TRUE(cluster.Has("a-worker-0"));
    cluster.StartAll();
    cluster.Connect("a-worker-0");
  }
  EXPECT_EQ(uids.size(), 5U);
  EXPECT_EQ(cluster.status().workers.failed, 0);
  EXPECT_FALSE(api::IsTrue(cluster.status(), api::kFailed));
}

TEST(FailurePolicy, AServersEndMayBeIgnoredToo) {
  FakeCluster cluster = RunningUnder({Of(FailureRole::kServer, OnSignals(FailureAction::kIgnore, {9}))});
  cluster.job().spec.backups = 1;
  cluster.job().spec.run_policy.backoff_limit = 0;
  cluster.Exit("a-server-1", 137);
  cluster.Settle();
  EXPECT_TRUE(cluster.HasEvent(kEventServerReplaced));
  EXPECT_EQ(cluster.status().servers.failed, 0);
  EXPECT_FALSE(api::IsTrue(cluster.status(), api::kFailed));
}

}  // namespace
}  // namespace attune::controller::failure_policy_test
