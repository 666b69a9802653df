// Why a job is tuned as it is, as a user of a shared cluster reads it.
#include "cli/policies/policy_explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/golden.h"
#include "tests/cli/policies/sample_cluster.h"

namespace attune::cli::policy_explanation_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const api::Labels kResearch = {{"tier", "research"}};

std::string Text(const kube::Json& job, const std::vector<api::Policy>& policies,
                 const std::optional<api::Labels>& labels = kResearch) {
  return ToText(ExplainPolicies(job, policies, labels, {}, kNoon), kNoon);
}

TEST(PolicyExplanation, AllThatIsInForceWhereItCameFromAndWhatIsNotAboutTheJob) {
  ExpectGolden(Text(SampleJob(), SamplePolicies()), "policy-explain.txt");
}

TEST(PolicyExplanation, ForPrograms) {
  kube::Json job = SampleJob();
  job["status"]["policy"] = {{"policies", "ClusterTuningPolicy shared-gpus"}, {"mode", "Auto"}};
  const PolicyExplanation explanation =
      ExplainPolicies(job, SamplePolicies(), kResearch, {"something could not be read"}, kNoon);
  ExpectGolden(ToJson(explanation).dump(2) + "\n", "policy-explain.json");
}

TEST(PolicyExplanation, WithoutAPolicyTheManifestCounts) {
  const std::string text = Text(SampleJob(), {});
  EXPECT_THAT(text, HasSubstr("word2vec: tuning Auto, as the job asks\nNo policy selects it"));
  EXPECT_THAT(text, Not(HasSubstr("Note")));
}

TEST(PolicyExplanation, TheModeThatIsAskedForAgainstTheOneInForce) {
  const kube::Json silent = JobFrom("a", "{}", "{workers: {replicas: 1}}");
  const api::Policy eager = PolicyFrom("TuningPolicy", "eager", "{mode: {default: Auto}}"),
                    look = PolicyFrom("TuningPolicy", "look", "{mode: {allowed: [Recommend]}}");
  EXPECT_THAT(Text(silent, {}), HasSubstr("a: tuning Off; the job states no mode\n"));
  EXPECT_THAT(Text(silent, {eager}),
              HasSubstr("a: tuning Auto by the default of TuningPolicy research/eager; the job states no mode\n"));
  EXPECT_THAT(
      Text(SampleJob(), {look}),
      HasSubstr("word2vec: tuning Recommend by TuningPolicy research/look, which allows Recommend; the job asks for "
                "Auto\n"));
}

TEST(PolicyExplanation, WhatTheOperatorReportedIsComparedWithWhatFollows) {
  const api::Policy look = PolicyFrom("TuningPolicy", "look", "{mode: {allowed: [Recommend]}}");
  kube::Json job = SampleJob();
  EXPECT_THAT(Text(job, {look}), HasSubstr("it has not looked at the job yet"));
  job["status"]["policy"] = {{"policies", "TuningPolicy research/look"}, {"mode", "Recommend"}};
  EXPECT_THAT(Text(job, {look}), Not(HasSubstr("Note")));
  job["status"]["policy"]["mode"] = "Auto";
  EXPECT_THAT(Text(job, {look}), HasSubstr("the operator reported last: mode Auto by TuningPolicy research/look"));
}

TEST(PolicyExplanation, AWindowThatCannotBeReadHoldsAlwaysAndSaysWhy) {
  const api::Policy odd = PolicyFrom(
      "TuningPolicy", "odd",
      "{windows: [{schedule: working hours, mode: Recommend}, {schedule: 'Mon 08:00-09:00 Europe/Nowhere', mode: "
      "InPlaceOnly}]}");
  const std::string text = Text(SampleJob(), {odd});
  EXPECT_THAT(text, HasSubstr("Window: working hours, at most Recommend (TuningPolicy research/odd): holds always, for "
                              "its schedule cannot be read"));
  EXPECT_THAT(text, HasSubstr("holds always, for time zone Europe/Nowhere is not known here"));
}

TEST(PolicyExplanation, AJobThatHasEndedIsHeldToNothing) {
  kube::Json job = SampleJob();
  job["status"]["conditions"] = kube::Json::array({{{"type", "Succeeded"}, {"status", "True"}}});
  const std::string text = Text(job, SamplePolicies());
  EXPECT_THAT(text, HasSubstr("The job has ended; this is what would be in force."));
  EXPECT_THAT(text, Not(HasSubstr("the operator has not reported")));
}

// Where labels of the namespace may not be read, a policy that asks for them counts.
TEST(PolicyExplanation, UnreadableNamespacesAreTakenToBeSelected) {
  const PolicyExplanation explanation = ExplainPolicies(SampleJob(), SamplePolicies(), std::nullopt, {}, kNoon);
  EXPECT_THAT(explanation.effective.policies, testing::Contains("ClusterTuningPolicy production-only"));
  ASSERT_EQ(explanation.passed_by.size(), 1U);
  EXPECT_EQ(explanation.passed_by[0].policy, "TuningPolicy research/urgent");
}

}  // namespace
}  // namespace attune::cli::policy_explanation_test
