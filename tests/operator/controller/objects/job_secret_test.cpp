// Every job has a token of its own that no pod runs without, made by an operator that may not read Secrets.
#include "operator/controller/objects/job_secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/objects/pods.h"
#include "proto/contract.h"
#include "tests/operator/controller/execute/fake_cluster.h"

namespace attune::controller::job_secret_test {
namespace {

using kube::Json;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::StartsWith;

// The Secret of the pod's volume; "" when it has none.
std::string MountedSecret(const Json& pod) {
  for (const Json& volume : pod["spec"]["volumes"]) {
    if (volume["name"] == "attune-job-token") return volume["secret"]["secretName"];
  }
  return "";
}

TEST(JobSecretTest, ItsNameIsOnRecordBeforeAnythingIsMade) {
  FakeCluster cluster(MakeTrainingJob("a").Servers(1).Workers(1).Build());
  EXPECT_THAT(cluster.Reconcile(), ElementsAre(StartsWith("WriteStatus")));
  const std::string name = cluster.status().secret;
  EXPECT_THAT(name, MatchesRegex("a-attune-[0-9a-f]{16}"));
  EXPECT_THAT(cluster.secrets(), IsEmpty());
  EXPECT_THAT(cluster.Reconcile(), Contains(StartsWith("CreateSecret " + name)));
  EXPECT_THAT(cluster.secrets(), ElementsAre(name));
  cluster.Settle();
  cluster.StartAll();
  cluster.Settle();
  EXPECT_EQ(cluster.status().secret, name) << "it stays";
  for (const std::string& pod : cluster.PodNames()) EXPECT_EQ(MountedSecret(cluster.pod(pod)), name) << pod;
}

TEST(JobSecretTest, AnOperatorThatEndsAnywhereMakesOneSecret) {
  for (size_t actions = 0; actions < 8; ++actions) {
    FakeCluster cluster(MakeTrainingJob("a").Servers(2).Workers(1).Build());
    for (int round = 0; round < 3; ++round) {
      cluster.Reconcile(actions);
      cluster.RestartOperator();
    }
    cluster.Settle();
    EXPECT_THAT(cluster.secrets(), ElementsAre(cluster.status().secret)) << actions << " actions at a time";
    EXPECT_TRUE(cluster.Has("a-server-1"));
  }
}

TEST(JobSecretTest, TheUsersOwnIsUsedInstead) {
  FakeCluster cluster(MakeTrainingJob("a").Servers(1).Workers(1).Security("", "mine").Build());
  cluster.Settle();
  EXPECT_THAT(cluster.secrets(), IsEmpty());
  EXPECT_EQ(cluster.status().secret, "");
  EXPECT_EQ(MountedSecret(cluster.pod("a-server-0")), "mine");
}

// Of an operator that made none. A process with a token and one without do not talk to each other.
TEST(JobSecretTest, AJobThatBeganWithoutStaysAsItIs) {
  FakeCluster cluster(MakeTrainingJob("a").Servers(1).Workers(2).Build());
  cluster.Settle();
  cluster.job().status.secret = "";
  for (const std::string& pod : cluster.PodNames()) {
    Json& volumes = cluster.pod(pod)["spec"]["volumes"];
    for (auto it = volumes.begin(); it != volumes.end();) {
      it = (*it)["name"] == "attune-job-token" ? volumes.erase(it) : it + 1;
    }
  }
  cluster.StartAll();
  cluster.Settle();
  EXPECT_EQ(cluster.status().secret, "");
  ASSERT_TRUE(cluster.Has("a-worker-1"));
  EXPECT_EQ(MountedSecret(cluster.pod("a-worker-1")), "");
}

TEST(JobSecretTest, TokensAreLongAndNeverTheSame) {
  EXPECT_THAT(DrawToken(), MatchesRegex("[0-9a-f]{64}"));
  EXPECT_NE(DrawToken(), DrawToken());
}

TEST(JobSecretTest, TheSecretCannotChangeAndGoesWithTheJob) {
  const auto job = MakeTrainingJob("a").Build();
  const Json secret = BuildSecret(job, "a-attune-1", "0123456789abcdef");
  EXPECT_EQ(secret["immutable"], true);
  EXPECT_EQ(secret["data"]["token"], "MDEyMzQ1Njc4OWFiY2RlZg==");
  EXPECT_TRUE(IsOwnedBy(secret, job));
}

}  // namespace
}  // namespace attune::controller::job_secret_test
