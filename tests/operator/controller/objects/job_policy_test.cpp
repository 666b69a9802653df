// Who may open connections to the pods of a job, where the network plugin enforces it.
#include "operator/controller/objects/job_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/os/file.h"
#include "operator/controller/objects/pods.h"
#include "proto/contract.h"
#include "tests/operator/controller/execute/fake_cluster.h"

namespace attune::controller::job_policy_test {
namespace {

using kube::Json;
using testing::Contains;
using testing::Not;
using testing::StartsWith;

TEST(JobPolicyTest, LetsInThePodsOfThisRunOfTheJobAndWhoeverReadsMetrics) {
  const auto job = MakeTrainingJob("a").Build();
  const Json policy = BuildJobPolicy(job, Json::array());
  const Json own = {{"matchLabels", {{"attune.dev/job-uid", job.uid}}}};
  EXPECT_EQ(policy["spec"],
            (Json{{"podSelector", own},
                  {"policyTypes", {"Ingress"}},
                  {"ingress",
                   {{{"from", {{{"podSelector", own}}}}}, {{"ports", {{{"protocol", "TCP"}, {"port", 7402}}}}}}}}));
  EXPECT_TRUE(IsOwnedBy(policy, job)) << "it goes with the job";
  for (const RoleName role : {RoleName::kServer, RoleName::kWorker}) {
    EXPECT_EQ(kube::Label(BuildPod(job, role, 0, 1, {}), contract::kLabelJobUid), job.uid) << "its pods are selected";
  }
}

TEST(JobPolicyTest, MetricsMayBeReadFromWhereTheInstallationSays) {
  const auto peers = ParsePolicyPeers(R"([{"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}])");
  ASSERT_TRUE(peers.ok()) << peers.status();
  const Json metrics = BuildJobPolicy(MakeTrainingJob("a").Build(), *peers)["spec"]["ingress"][1];
  EXPECT_EQ(metrics["from"], *peers);
  EXPECT_EQ(metrics["ports"][0]["port"], contract::kMetricsPort);
}

// The same file is turned into firewall rules between real processes (tests/local/network_policy).
TEST(JobPolicyTest, TheObjectIsTheOneThatIsShownToKeepStrangersAway) {
  const auto peers =
      ParsePolicyPeers(R"([{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}])");
  const Json policy = BuildJobPolicy(MakeTrainingJob("word2vec").Build(), *peers);
  const std::string path = std::string(ATTUNE_SOURCE_DIR) + "/tests/operator/controller/objects/job_policy.golden.json";
  if (std::getenv("ATTUNE_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(path, policy.dump(2) + "\n").ok());
  }
  const auto golden = ReadFile(path);
  ASSERT_TRUE(golden.ok()) << golden.status();
  EXPECT_EQ(*golden, policy.dump(2) + "\n") << "run with ATTUNE_UPDATE_GOLDEN=1 and review the difference";
}

TEST(JobPolicyTest, PeersThatAreNoneAreRefused) {
  for (const char* text : {"", "{}", "[1]", "[{}]", R"([{"pods": {}}])", R"([{"ipBlock": "10.0.0.0/8"}])", "[{]"}) {
    EXPECT_EQ(ParsePolicyPeers(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_TRUE(ParsePolicyPeers("[]").ok());
}

TEST(JobPolicyTest, OneIsMadePerJobWhereTheInstallationWantsIt) {
  FakeCluster cluster(MakeTrainingJob("a").Servers(2).Workers(1).Build());
  cluster.options.job_policies = true;
  EXPECT_THAT(cluster.Settle(), Contains(StartsWith("CreateNetworkPolicy " + JobPolicyName(cluster.job()))));
  EXPECT_TRUE(cluster.policy());
  cluster.RestartOperator();
  EXPECT_THAT(cluster.Settle(), Contains(StartsWith("CreateNetworkPolicy"))) << "it may not read them, so it asks once";

  FakeCluster without(MakeTrainingJob("a").Servers(2).Workers(1).Build());
  EXPECT_THAT(without.Settle(), Not(Contains(StartsWith("CreateNetworkPolicy"))));
}

TEST(JobPolicyTest, OneThatSomebodyDeletesComesBack) {
  FakeCluster cluster(MakeTrainingJob("a").Servers(2).Workers(1).Build());
  cluster.options.job_policies = true;
  cluster.Settle();
  cluster.DeletePolicy();
  cluster.Advance(cluster.options.policy_renewal - std::chrono::seconds(1));
  cluster.Settle();
  EXPECT_FALSE(cluster.policy()) << "it may not look, and does not ask all the time";
  ASSERT_TRUE(cluster.requeue());
  EXPECT_LE(*cluster.requeue(), std::chrono::seconds(1));
  cluster.Advance(std::chrono::seconds(1));
  EXPECT_THAT(cluster.Settle(), Contains(StartsWith("CreateNetworkPolicy")));
  EXPECT_TRUE(cluster.policy());
}

// A second line of defense keeps no job from training.
TEST(JobPolicyTest, NothingWaitsForIt) {
  FakeCluster cluster(MakeTrainingJob("a").Servers(1).Workers(1).Build());
  cluster.options.job_policies = true;
  cluster.Reconcile();  // the name of the job's Secret
  const std::vector<Step> plan = Plan(cluster.Observe(), cluster.options, cluster.now());
  const auto policy = std::ranges::find_if(
      plan, [](const Step& step) { return std::holds_alternative<CreateNetworkPolicy>(step.action); });
  ASSERT_NE(policy, plan.end());
  EXPECT_TRUE(policy->needs.empty());
  for (const Step& step : plan) EXPECT_THAT(step.needs, Not(Contains(policy - plan.begin()))) << Describe(step.action);
}

}  // namespace
}  // namespace attune::controller::job_policy_test
