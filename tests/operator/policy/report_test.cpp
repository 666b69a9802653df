// What the status of each policy says of the jobs that run.
#include "operator/policy/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::policy::report_test {
namespace {

using testing::HasSubstr;

api::ParsedPolicy Parsed(const std::string& name, const kube::Json& spec) {
  return api::ParsePolicy({{"apiVersion", "attune.dev/v1alpha1"},
                           {"kind", "ClusterTuningPolicy"},
                           {"metadata", {{"name", name}, {"generation", 3}}},
                           {"spec", spec}});
}
JobFacts Job(const std::string& tier) { return {.name_space = "a", .labels = {{"tier", tier}}}; }
kube::Json OfTier(const std::string& tier, kube::Json spec) {
  spec["selector"]["jobs"]["matchLabels"]["tier"] = tier;
  return spec;
}

TEST(PolicyReport, EachPolicyCountsTheJobsThatItSelects) {
  const auto statuses = StatusesOf({Parsed("all", kube::Json::object()), Parsed("gold", OfTier("gold", {}))},
                                   {Job("gold"), Job("gold"), Job("iron")}, {});
  ASSERT_EQ(statuses.size(), 2U);
  EXPECT_EQ(statuses[0], (api::PolicyStatus{.observed_generation = 3, .jobs = 3}));
  EXPECT_EQ(statuses[1], (api::PolicyStatus{.observed_generation = 3, .jobs = 2}));
}

TEST(PolicyReport, AConflictIsCountedAtTheTwoThatAreInItAndNamed) {
  const auto knobs = [](const char* bound, int value) {
    return kube::Json{{"knobs", {{"workers", {{bound, value}}}}}};
  };
  const auto statuses = StatusesOf({Parsed("few", knobs("max", 2)), Parsed("gold", OfTier("gold", knobs("min", 4))),
                                    Parsed("other", knobs("max", 9))},
                                   {Job("gold"), Job("iron")}, {});
  EXPECT_EQ(statuses[0].conflicts, 1);
  EXPECT_EQ(statuses[1].conflicts, 1);
  EXPECT_THAT(statuses[0].message, HasSubstr("ClusterTuningPolicy gold asks for at least 4"));
  EXPECT_EQ(statuses[2].conflicts, 0) << "it is overruled, and in no conflict";
  EXPECT_EQ(statuses[2].message, "");
}

TEST(PolicyReport, WhatIsWrongWithAPolicyIsSaidEvenWithoutJobs) {
  const auto statuses = StatusesOf({Parsed("typo", {{"limits", {{"trialsPerHuor", 3}}}})}, {}, {});
  EXPECT_THAT(statuses[0].message, HasSubstr("trialsPerHuor"));
}

}  // namespace
}  // namespace attune::policy::report_test
