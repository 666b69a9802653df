// spec.runPolicy.podFailurePolicy in manifests: read, written, refused with the place and the way out.
#include "operator/api/failure/failure_policy_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::api::failure_policy_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Json Job(const Json& rules) {
  return {{"apiVersion", "attune.dev/v1alpha1"},
          {"kind", "TrainingJob"},
          {"metadata", {{"name", "a"}}},
          {"spec",
           {{"workers", {{"template", {{"spec", {{"containers", {{{"name", "worker"}, {"image", "x"}}}}}}}}}},
            {"runPolicy", {{"podFailurePolicy", {{"rules", rules}}}}}}}};
}

TEST(FailurePolicyFields, WhatIsReadIsWrittenAgain) {
  const Json rules = Json::parse(R"([
    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
    {"action": "FailJob", "roles": ["Worker"], "onExitCodes": {"operator": "In", "values": [42, 43]}},
    {"action": "Restart", "onSignals": {"operator": "NotIn", "values": ["SIGKILL", "SIGSEGV"]}}])");
  const ParsedJob parsed = ParseTrainingJob(Job(rules));
  for (const FieldProblem& problem : parsed.problems) ADD_FAILURE() << ToString(problem);
  const std::vector<FailureRule>& read = parsed.job.spec.run_policy.failure_rules;
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read[0].pod_conditions[0].type, "DisruptionTarget");
  EXPECT_EQ(read[1].action, FailureAction::kFailJob);
  EXPECT_THAT(read[1].roles, ElementsAre(FailureRole::kWorker));
  EXPECT_THAT(read[1].exit_codes->values, ElementsAre(42, 43));
  EXPECT_FALSE(read[2].signals->in);
  EXPECT_THAT(read[2].signals->values, ElementsAre(9, 11));
  EXPECT_EQ(ToJson(parsed.job.spec)["runPolicy"]["podFailurePolicy"]["rules"], rules);
}

TEST(FailurePolicyFields, WhatIsNoRuleIsNamedWithWhatMayStandThere) {
  struct {
    const char* why;
    const char* rules;
    const char* path;
    const char* words;
  } cases[] = {
      {"no list", R"({"action": "Ignore"})", ".rules:", "a list of at most 20 entries"},
      {"a misspelled action", R"([{"action": "FailJop", "onExitCodes": {"operator": "In", "values": [1]}}])",
       ".rules[0].action:", "FailJob (nearest)"},
      {"no action", R"([{"onExitCodes": {"operator": "In", "values": [1]}}])",
       ".rules[0].action:", "FailJob, Ignore, Restart"},
      {"nothing to match", R"([{"action": "Ignore"}])",
       ".rules[0]:", "exactly one of onExitCodes, onSignals, onPodConditions"},
      {"two things to match",
       R"([{"action": "Ignore", "onSignals": {"operator": "In", "values": ["SIGHUP"]}, "onPodConditions": []}])",
       ".rules[0]:", "exactly one of"},
      {"an unknown field", R"([{"action": "Ignore", "onExitCode": {}}])",
       ".rules[0].onExitCode:", "onExitCodes (nearest)"},
      {"code 0", R"([{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [0]}}])",
       ".onExitCodes.values:", "from 1 to 255"},
      {"a code that is text", R"([{"action": "Ignore", "onExitCodes": {"operator": "In", "values": ["1"]}}])",
       ".onExitCodes.values:", "from 1 to 255"},
      {"a code twice", R"([{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7, 7]}}])",
       ".onExitCodes.values:", "each value once"},
      {"no codes", R"([{"action": "Ignore", "onExitCodes": {"operator": "In", "values": []}}])",
       ".onExitCodes.values:", "1 to 255 entries"},
      {"no operator", R"([{"action": "Ignore", "onExitCodes": {"values": [1]}}])",
       ".onExitCodes.operator:", "In, NotIn"},
      {"a signal that is none", R"([{"action": "Ignore", "onSignals": {"operator": "In", "values": ["SIGKIL"]}}])",
       ".onSignals.values:", "SIGKILL (nearest)"},
      {"a role that is none", R"([{"action": "Ignore", "roles": ["Chief"], "onPodConditions": [{"type": "A"}]}])",
       ".roles:", "Server, Worker"},
      {"a condition without type", R"([{"action": "Ignore", "onPodConditions": [{"status": "True"}]}])",
       ".onPodConditions[0].type:", "DisruptionTarget"},
      {"a status that is none", R"([{"action": "Ignore", "onPodConditions": [{"type": "A", "status": "Yes"}]}])",
       ".onPodConditions[0].status:", "True, False, Unknown"},
  };
  for (const auto& c : cases) {
    const ParsedJob parsed = ParseTrainingJob(Job(Json::parse(c.rules)));
    ASSERT_FALSE(parsed.problems.empty()) << c.why;
    const std::string text = ToString(parsed.problems.front());
    EXPECT_THAT(text, HasSubstr(c.path)) << c.why;
    EXPECT_THAT(text, HasSubstr(c.words)) << c.why;
    EXPECT_TRUE(parsed.job.spec.run_policy.failure_rules.empty()) << c.why;
  }
}

TEST(FailurePolicyFields, EverySignalHasItsName) {
  EXPECT_EQ(SignalName(9), "SIGKILL");
  EXPECT_EQ(SignalName(15), "SIGTERM");
  EXPECT_EQ(SignalName(4096), "");
}

}  // namespace
}  // namespace attune::api::failure_policy_test
