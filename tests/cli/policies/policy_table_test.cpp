#include "cli/policies/policy_table.h"

#include <gtest/gtest.h>

#include "cli/runs/jobs.h"
#include "tests/cli/golden.h"
#include "tests/cli/policies/sample_cluster.h"

namespace attune::cli::policy_table_test {
namespace {

TEST(PolicyTable, WhatEachSelectsAndSaysInALine) {
  const std::vector<kube::Json> policies = FromYaml(kSamplePolicies);
  std::string text;
  for (const std::string& line : FormatTable(PolicyTable(policies, ToUnixSeconds(kNoon)))) text += line + "\n";
  for (const std::string& line : PolicyComplaints(policies)) text += line + "\n";
  ExpectGolden(text, "policy-list.txt");
}

TEST(PolicyTable, RulesInShort) {
  const std::pair<const char*, const char*> kTable[] = {
      {"{}", "none"},
      {"{mode: {allowed: [Auto], default: Recommend}}", "mode Auto, default Recommend"},
      {"{knobs: {workers: {min: 2, max: 8}, serverCpu: {min: 500m}, threads: {max: 4}}}",
       "workers 2..8, threads <= 4, serverCpu >= 500m"},
      {"{limits: {trialsPerHour: 1}, adopt: {certainty: 0.9}, onViolation: ShrinkNow}", "2 limits; ShrinkNow"},
      {"{objective: {default: cost, price: {core-hour: 1}}}", "objective"}};
  for (const auto& [spec, want] : kTable)
    EXPECT_EQ(RulesText(PolicyFrom("TuningPolicy", "a", spec).spec), want) << spec;
}

TEST(PolicyTable, SelectorsInTheWordsOfKubectl) {
  EXPECT_EQ(SelectsText(PolicyFrom("TuningPolicy", "a", "{}")), "all jobs");
  EXPECT_EQ(SelectsText(PolicyFrom("ClusterTuningPolicy", "a",
                                   "{selector: {namespaces: {matchLabels: {tier: a}}, jobs: {matchExpressions: "
                                   "[{key: team, operator: In, values: [x, z]}, {key: spot, operator: "
                                   "DoesNotExist}]}}}")),
            "team in (x,z),!spot in namespaces tier=a");
}

// A newer version may know more: what cannot be read here is not passed over in silence.
TEST(PolicyTable, AStoredPolicyThatCannotBeReadIsNamed) {
  const auto policies = FromYaml(
      "{apiVersion: attune.dev/v1alpha1, kind: TuningPolicy, metadata: {name: a, namespace: b}, spec: {limits: "
      "{sleepsPerHour: 1}}}");
  ASSERT_EQ(PolicyComplaints(policies).size(), 1U);
  EXPECT_TRUE(PolicyComplaints(policies)[0].starts_with("TuningPolicy b/a: spec.limits.sleepsPerHour: found"));
}

}  // namespace
}  // namespace attune::cli::policy_table_test
