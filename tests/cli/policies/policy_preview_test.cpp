// What would change if policies were applied.
#include "cli/policies/policy_preview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/golden.h"
#include "tests/cli/policies/sample_cluster.h"

namespace attune::cli::policy_preview_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

kube::Json Job(const std::string& name, int workers, const std::string& labels = "{}") {
  const std::string count = std::to_string(workers);
  return JobFrom(name, labels, "{servers: {replicas: 2}, workers: {replicas: " + count + "}, tuning: {mode: Auto}}");
}

PolicyPreview Preview(std::vector<api::Policy> present, std::vector<api::Policy> proposed, std::vector<kube::Json> jobs,
                      WallTime now = kNoon) {
  return PreviewPolicies({.present = std::move(present),
                          .proposed = std::move(proposed),
                          .jobs = std::move(jobs),
                          .namespaces = {{"research", {{"tier", "research"}}}}},
                         now);
}

api::Policy Own(const std::string& name, const std::string& spec) { return PolicyFrom("TuningPolicy", name, spec); }

std::vector<std::string> FieldsOf(const PolicyPreview& preview) {
  std::vector<std::string> texts;
  for (const JobChange& job : preview.changed) {
    for (const FieldChange& each : job.fields)
      texts.push_back(each.field + " " + each.before.value_or("none") + " -> " + each.after.value_or("none"));
  }
  return texts;
}

std::vector<api::Policy> ProposedInTheSample() {
  return {PolicyFrom("ClusterTuningPolicy", "shared-gpus",
                     "{selector: {jobs: {matchLabels: {priority: low}}}, mode: {allowed: [Recommend]}, knobs: "
                     "{workers: {max: 6}}, onViolation: ShrinkNow}"),
          Own("high",
              "{selector: {jobs: {matchLabels: {team: vision}}}, knobs: {workers: {min: 10}, threads: {max: "
              "4}}, windows: [{schedule: 'Sat 00:00-24:00 UTC', mode: 'Off'}]}")};
}

PolicyPreview SamplePreview() {
  PreviewInput input{.present = SamplePolicies(),
                     .proposed = ProposedInTheSample(),
                     .jobs = {SampleJob(), Job("big", 20, "{priority: low}"), Job("small", 2)},
                     .namespaces = {{"research", {{"tier", "research"}}}},
                     .notes = {"something could not be read"}};
  kube::Json ended = Job("ended", 2);
  ended["status"]["conditions"] = kube::Json::array({{{"type", "Succeeded"}, {"status", "True"}}});
  input.jobs.push_back(ended);
  return PreviewPolicies(std::move(input), kNoon);
}

TEST(PolicyPreview, JobsThatChangeAndHow) { ExpectGolden(ToText(SamplePreview(), kNoon), "policy-test.txt"); }

TEST(PolicyPreview, ForPrograms) { ExpectGolden(ToJson(SamplePreview()).dump(2) + "\n", "policy-test.json"); }

TEST(PolicyPreview, AJobThatNoPolicySelectsIsCountedAndNotNamed) {
  const PolicyPreview preview =
      Preview({}, {Own("a", "{selector: {jobs: {matchLabels: {x: 'y'}}}, knobs: {workers: {max: 1}}}")},
              {Job("one", 4), Job("two", 4, "{x: 'y'}")});
  ASSERT_EQ(preview.changed.size(), 1U);
  EXPECT_EQ(preview.changed[0].job.ToString(), "research/two");
  EXPECT_EQ(preview.unchanged, 1U);
  ASSERT_EQ(preview.policies.size(), 1U);
  EXPECT_FALSE(preview.policies[0].replaces);
  EXPECT_EQ(preview.policies[0].selects, 1U);
}

TEST(PolicyPreview, APolicyOfTheSameNameIsReplacedAndItsOldWordIsGone) {
  const PolicyPreview preview = Preview({Own("a", "{limits: {trialsPerHour: 2}, knobs: {workers: {max: 8}}}")},
                                        {Own("a", "{limits: {trialsPerHour: 6}}")}, {Job("one", 4)});
  EXPECT_THAT(FieldsOf(preview), ElementsAre("limits.trialsPerHour 2 -> 6", "knobs.workers.max 8 -> none"));
  EXPECT_TRUE(preview.policies.at(0).replaces);
}

TEST(PolicyPreview, TheSamePolicyAgainChangesNothing) {
  const PolicyPreview preview = Preview(SamplePolicies(), SamplePolicies(), {SampleJob(), Job("big", 20)});
  EXPECT_THAT(preview.changed, IsEmpty());
  EXPECT_EQ(preview.unchanged, 2U);
}

TEST(PolicyPreview, AStricterPolicyThatIsThereAlreadyLeavesNothingToChange) {
  const PolicyPreview preview = Preview({Own("narrow", "{knobs: {workers: {max: 2}}}")},
                                        {Own("wide", "{knobs: {workers: {max: 8}}}")}, {Job("one", 2)});
  EXPECT_THAT(preview.changed, IsEmpty());
}

TEST(PolicyPreview, KnobsOutsideStayWithKeepAndMoveAtOnceWithShrinkNow) {
  const auto outside = [](const std::string& spec, const kube::Json& job) {
    std::vector<std::string> texts;
    for (const JobChange& change : Preview({}, {Own("a", spec)}, {job}).changed) {
      for (const KnobOutside& each : change.outside)
        texts.push_back(each.knob + " " + each.present + (each.at_once ? " -> " : " stays, inside is ") + each.nearest);
    }
    return texts;
  };
  const kube::Json sized =
      JobFrom("sized", "{}",
              "{servers: {replicas: 1}, workers: {replicas: 2, threads: 8, resources: {cpu: {target: '6', max: '8'}}}, "
              "synchronization: {mode: Async}, tuning: {mode: Auto}}");
  EXPECT_THAT(outside("{knobs: {workers: {max: 16}}}", Job("a", 20)), ElementsAre("workers 20 stays, inside is 16"));
  EXPECT_THAT(outside("{knobs: {workers: {max: 16}}, onViolation: ShrinkNow}", Job("a", 20)),
              ElementsAre("workers 20 -> 16"));
  EXPECT_THAT(outside("{knobs: {servers: {min: 3}}, onViolation: ShrinkNow}", Job("a", 20)),
              ElementsAre("servers 2 -> 3"));
  EXPECT_THAT(outside("{knobs: {workers: {max: 16}}, onViolation: ShrinkNow}", Job("a", 16)), IsEmpty());
  EXPECT_THAT(outside("{knobs: {workers: {max: 16, forbidden: true}}, onViolation: ShrinkNow}", Job("a", 20)),
              IsEmpty())
      << "what is forbidden keeps its value";
  EXPECT_THAT(outside("{knobs: {threads: {max: 4}, workerCpu: {max: 2500m}, slack: {max: 4}}}", sized),
              ElementsAre("threads 8 stays, inside is 4", "slack async stays, inside is ssp:4",
                          "workerCpu 6 stays, inside is 2500m"));
}

TEST(PolicyPreview, WhatWasOutsideBeforeIsNoNews) {
  const PolicyPreview preview = Preview({Own("there", "{knobs: {workers: {max: 4}}}")},
                                        {Own("more", "{limits: {movesPerHour: 1}}")}, {Job("a", 8)});
  ASSERT_EQ(preview.changed.size(), 1U);
  EXPECT_THAT(preview.changed[0].outside, IsEmpty());
  const PolicyPreview shrunk =
      Preview({Own("there", "{knobs: {workers: {max: 4}}}")}, {Own("now", "{onViolation: ShrinkNow}")}, {Job("a", 8)});
  ASSERT_EQ(shrunk.changed.size(), 1U);
  EXPECT_EQ(shrunk.changed[0].outside, (std::vector<KnobOutside>{{"workers", "8", "4", true}}));
}

TEST(PolicyPreview, NewConflictsAreNamedAndThoseThatEnd) {
  const std::vector<api::Policy> low = {Own("low", "{knobs: {workers: {max: 4}}}")},
                                 high = {Own("high", "{knobs: {workers: {min: 8}}}")};
  const PolicyPreview made = Preview(low, high, {Job("a", 4)});
  ASSERT_EQ(made.changed.size(), 1U);
  EXPECT_THAT(made.changed[0].conflicts, ElementsAre(HasSubstr("TuningPolicy research/high asks for at least 8")));
  const PolicyPreview ended = Preview({low[0], high[0]}, {Own("high", "{knobs: {workers: {min: 2}}}")}, {Job("a", 4)});
  ASSERT_EQ(ended.changed.size(), 1U);
  EXPECT_THAT(ended.changed[0].conflicts, IsEmpty());
  EXPECT_EQ(ended.changed[0].ended.size(), 1U);
}

// Tried in the evening, a window of working hours changes nothing yet.
TEST(PolicyPreview, AWindowThatBeginsLaterSaysHowManyJobsItIsAbout) {
  const std::vector<api::Policy> workday = {
      Own("workday", "{windows: [{schedule: 'Mon-Fri 08:00-20:00 UTC', mode: Recommend}]}")};
  const PolicyPreview by_day = Preview({}, workday, {Job("a", 4)});
  EXPECT_THAT(FieldsOf(by_day), ElementsAre("mode Auto -> Recommend"));
  EXPECT_THAT(by_day.later, IsEmpty());
  const PolicyPreview evening =
      Preview({}, workday, {Job("a", 4), JobFrom("b", "{}", "{tuning: {mode: 'Off'}}")}, kNoon + 9h);
  EXPECT_THAT(evening.changed, IsEmpty());
  ASSERT_EQ(evening.later.size(), 1U);
  EXPECT_EQ(evening.later[0].jobs, 1U) << "a job that is not tuned has no lower mode";
  EXPECT_THAT(ToText(evening, kNoon + 9h),
              HasSubstr("From Thu 2026-07-16 08:00 UTC on, in 11h00m: a lower mode for 1 job"));
}

TEST(PolicyPreview, OverACluster) {
  SampleCluster cluster;
  cluster.objects = FromYaml(kSamplePolicies);
  cluster.objects.push_back(SampleJob());
  cluster.objects.push_back(ResearchNamespace());
  const auto preview = TryPolicies(cluster, ProposedInTheSample(), "default", kNoon);
  ASSERT_TRUE(preview.ok()) << preview.status();
  EXPECT_EQ(preview->changed.size(), 1U);
  EXPECT_TRUE(preview->policies.at(0).replaces);
  EXPECT_FALSE(preview->policies.at(1).replaces);
  EXPECT_THAT(preview->notes, IsEmpty());
}

// A platform team tries its first policy before it installs anything.
TEST(PolicyPreview, AClusterWithoutTheKindsHasNothingToReplace) {
  SampleCluster cluster;
  cluster.objects = {SampleJob()};
  const Status unknown = Error(StatusCode::kNotFound, "the server could not find the requested resource");
  cluster.refused = {{"clustertuningpolicies/", unknown}, {"tuningpolicies/research", unknown}};
  const auto preview = TryPolicies(cluster, {Own("a", "{mode: {allowed: [Recommend]}}")}, "default", kNoon);
  ASSERT_TRUE(preview.ok()) << preview.status();
  EXPECT_THAT(FieldsOf(*preview), ElementsAre("mode Auto -> Recommend"));
  EXPECT_THAT(preview->notes, ElementsAre(HasSubstr("the cluster has no tuning policies")));
}

}  // namespace
}  // namespace attune::cli::policy_preview_test
