// What is read of a cluster, and what is said where something is not there or may not be seen.
#include "cli/policies/policy_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/policies/sample_cluster.h"

namespace attune::cli::policy_sources_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Status kUnknown = Error(StatusCode::kNotFound, "the server could not find the requested resource");
const Status kDenied = Error(StatusCode::kPermissionDenied, "user ann cannot list it");

class PolicySources : public ::testing::Test {
 protected:
  PolicySources() {
    cluster.objects = FromYaml(kSamplePolicies);
    cluster.objects.push_back(SampleJob());
    cluster.objects.push_back(JobFrom("other", "{}", "{}", "production"));
    cluster.objects.push_back(ResearchNamespace());
  }
  std::vector<std::string> Names(const std::vector<kube::Json>& objects) {
    std::vector<std::string> names;
    for (const kube::Json& object : objects) names.push_back(kube::KeyOf(object).ToString());
    return names;
  }
  SampleCluster cluster;
  std::vector<std::string> notes;
};

TEST_F(PolicySources, BothKindsOfTheNamespaceAndThoseOfTheClusterFirst) {
  const auto stored = ReadPolicies(cluster, {"research"});
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_THAT(Names(stored->objects), ElementsAre("production-only", "shared-gpus", "research/few-servers",
                                                  "research/narrow", "research/urgent"));
  EXPECT_THAT(Names(ReadPolicies(cluster, {"production"})->objects), ElementsAre("production-only", "shared-gpus"));
}

TEST_F(PolicySources, AClusterWithoutTheKindsSaysHowToInstallThem) {
  cluster.refused = {{"clustertuningpolicies/", kUnknown}, {"tuningpolicies/research", kUnknown}};
  const Status status = ReadPolicies(cluster, {"research"}).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("kubectl apply -f crds/tuningpolicy.yaml"));
}

TEST_F(PolicySources, WhatMayNotBeReadIsNotedAndTheRestCounts) {
  cluster.refused = {{"clustertuningpolicies/", kDenied}};
  const auto stored = ReadPolicies(cluster, {"research"});
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->objects.size(), 3U);
  EXPECT_THAT(stored->notes, ElementsAre(HasSubstr("ClusterTuningPolicy objects may not be read (user ann")));
  cluster.refused = {{"tuningpolicies/research", kUnknown}};
  EXPECT_THAT(ReadPolicies(cluster, {"research"})->notes,
              ElementsAre("the cluster does not know the kind TuningPolicy, so that none is shown"));
}

TEST_F(PolicySources, AUserWithoutAnyRightLearnsWhichOnesToAskFor) {
  cluster.refused = {{"clustertuningpolicies/", kDenied}, {"tuningpolicies/", kDenied}};
  const Status status = ReadPolicies(cluster, {""}).status();
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("ask for the verbs get and list"));
}

TEST_F(PolicySources, AnApiServerThatIsAwayIsNoClusterWithoutPolicies) {
  cluster.refused = {{"clustertuningpolicies/", Error(StatusCode::kUnavailable, "connection refused")}};
  EXPECT_EQ(ReadPolicies(cluster, {"research"}).status().code(), StatusCode::kUnavailable);
}

TEST_F(PolicySources, NamespacesThatMayNotBeReadAreNotedWhereTheirLabelsCount) {
  EXPECT_EQ(ReadNamespaceLabels(cluster, {"research"}, SamplePolicies(), notes),
            (NamespaceLabels{{"research", {{"tier", "research"}}}}));
  EXPECT_THAT(notes, IsEmpty());
  cluster.refused = {{"namespaces/research", kDenied}};
  const NamespaceLabels labels = ReadNamespaceLabels(cluster, {"research"}, SamplePolicies(), notes);
  EXPECT_FALSE(LabelsIn(labels, "research"));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("labels of namespace research may not be read here")));
  notes.clear();
  ReadNamespaceLabels(cluster, {"research"}, {PolicyFrom("TuningPolicy", "a", "{}")}, notes);
  EXPECT_THAT(notes, IsEmpty()) << "no policy asks for them";
}

TEST_F(PolicySources, JobsOfTheNamespacesThatPoliciesAreAbout) {
  const auto own = ReadJobsUnder(cluster, {PolicyFrom("TuningPolicy", "a", "{}")}, "default", notes);
  EXPECT_THAT(Names(own->jobs), ElementsAre("research/word2vec"));
  EXPECT_THAT(own->namespaces, ElementsAre("research"));
  const std::vector<api::Policy> of_all = {PolicyFrom("ClusterTuningPolicy", "a", "{}")};
  EXPECT_THAT(Names(ReadJobsUnder(cluster, of_all, "default", notes)->jobs),
              ElementsAre("research/word2vec", "production/other"));
  EXPECT_THAT(notes, IsEmpty());
  cluster.refused = {{"trainingjobs/", kDenied}};
  const auto narrow = ReadJobsUnder(cluster, of_all, "research", notes);
  EXPECT_THAT(Names(narrow->jobs), ElementsAre("research/word2vec"));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("only those of namespace research are looked at")));
}

}  // namespace
}  // namespace attune::cli::policy_sources_test
