#include "operator/controller/objects/pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/contract.h"
#include "tests/operator/controller/execute/fake_cluster.h"

namespace attune::controller::pods_test {
namespace {

using kube::At;
using kube::Json;
using testing::ElementsAre;

const Json& Named(const Json& list, const std::string& name) {
  for (const Json& item : list) {
    if (item["name"] == name) return item;
  }
  static const Json null;
  ADD_FAILURE() << name << " is not in " << list.dump();
  return null;
}
std::string Env(const Json& container, const char* name) {
  return Named(container["env"], name).value("value", "from a field");
}

Json Server(const api::TrainingJob& job) {
  return BuildPod(job, RoleName::kServer, 1, 2, PlanOptions{.telemetry_address = "op:7410"});
}
Json Worker(const api::TrainingJob& job) {
  return BuildPod(job, RoleName::kWorker, 3, 2, PlanOptions{.telemetry_address = "op:7410"});
}

TEST(PodsTest, NamesLabelsOwnerAndAddressAgreeWithTheService) {
  const auto job = MakeTrainingJob("w").Build();
  const Json pod = Server(job);
  EXPECT_EQ(kube::Name(pod), "w-server-1");
  EXPECT_EQ(pod["spec"]["hostname"], "w-server-1");
  EXPECT_EQ(pod["spec"]["subdomain"], kube::Name(BuildService(job)));
  EXPECT_TRUE(IsOwnedBy(pod, job));
  const Json service = BuildService(job), budget = BuildPodDisruptionBudget(job, 2);
  for (const Json& selector : {service["spec"]["selector"], budget["spec"]["selector"]["matchLabels"]}) {
    EXPECT_FALSE(selector.empty());
    for (const auto& [label, value] : selector.items()) EXPECT_EQ(kube::Label(pod, label), value);
  }
  EXPECT_EQ(service["spec"]["selector"].value("attune.dev/role", ""), "server") << "workers have no names";
  EXPECT_FALSE(Worker(job)["spec"].contains("subdomain"));
  EXPECT_EQ(budget["spec"]["minAvailable"], 2);
  EXPECT_EQ(CoordinatorAddress(job), "w-server-0.w.default.svc:7400");
  EXPECT_THAT(pod["metadata"]["finalizers"], ElementsAre(contract::kPodFinalizer));
}

TEST(PodsTest, ServersGetTheirNumberAndTheFirstTheCoordinatorWithTheGoal) {
  auto job =
      MakeTrainingJob("w").Goal({.epochs = 2, .steps = {}, .target_loss = 0.1, .max_duration_seconds = 60}).Build();
  const auto arguments = [&](int32_t index) {
    return Named(BuildPod(job, RoleName::kServer, index, 2, {})["spec"]["containers"], "server")["args"];
  };
  EXPECT_THAT(arguments(0), ElementsAre("--servers", "2", "--checkpoints-retained", "3", "--coordinator-here",
                                        "--epochs", "2", "--target-loss", "0.1", "--max-duration", "60"));
  EXPECT_THAT(arguments(1), ElementsAre("--servers", "2", "--checkpoints-retained", "3")) << "it may run one later";
  job.spec.checkpoint.resume_from = "/c";
  job.spec.checkpoint.keep = 5;
  EXPECT_THAT(arguments(0), testing::IsSupersetOf({"--load", "/c", "--checkpoints-retained", "5"}));
  EXPECT_THAT(arguments(1), ElementsAre("--servers", "2", "--checkpoints-retained", "5"))
      << "each loads what the coordinator names";
  job.spec.checkpoint.resume_at = api::ResumeAt::kBest;
  job.spec.checkpoint.best = {"recall", api::Direction::kMaximize};
  EXPECT_THAT(arguments(0), testing::IsSupersetOf({"--load-best", "--best-checkpoint", "recall", "--best-maximize"}));
}

TEST(PodsTest, WorkersKnowWhoTheyAreAndNeverHowManyThereAre) {
  const auto job = MakeTrainingJob("w").Servers(2).Workers(17).Build();
  const Json pod = Worker(job);
  const Json& worker = Named(pod["spec"]["containers"], "worker");
  EXPECT_EQ(Env(worker, contract::kEnvIndex), "3");
  EXPECT_EQ(Env(worker, contract::kEnvRole), "worker");
  EXPECT_EQ(Env(worker, contract::kEnvCoordinator), CoordinatorAddress(job));
  EXPECT_EQ(Env(worker, contract::kEnvModelDirectory), "/var/lib/attune/model/w");
  EXPECT_EQ(Env(worker, contract::kEnvPodIp), "from a field");
  EXPECT_EQ(worker["command"], Json::array({"train"}));
  EXPECT_EQ(pod["spec"].dump().find("17"), std::string::npos);
  EXPECT_EQ(pod["spec"]["restartPolicy"], "Never");
}

TEST(PodsTest, TheSidecarIsARestartableInitContainerWithItsOwnToken) {
  const Json pod = Worker(MakeTrainingJob("w").Build());
  const Json& sidecar = pod["spec"]["initContainers"][0];
  EXPECT_EQ(sidecar["name"], contract::kSidecarContainer);
  EXPECT_EQ(sidecar["restartPolicy"], "Always");
  EXPECT_EQ(Env(sidecar, contract::kEnvTelemetry), "op:7410");
  const Json& token = Named(pod["spec"]["volumes"], "attune-token")["projected"]["sources"][0]["serviceAccountToken"];
  EXPECT_EQ(token["audience"], contract::kTokenAudience);
  for (const Json& mount : Named(pod["spec"]["containers"], "worker")["volumeMounts"])
    EXPECT_NE(mount["name"], "attune-token");
}

// The taint is one sign, and nodes that are well bear it for a moment when the API server has been away.
TEST(PodsTest, ANodeThatIsNotReadyForSomeSecondsEndsNoPod) {
  const Json pods[] = {Worker(MakeTrainingJob("a").Build()), Server(MakeTrainingJob("a").Backups(1).Build())};
  for (const Json& pod : pods) {
    ASSERT_EQ(pod["spec"]["tolerations"].size(), 2U);
    for (const Json& toleration : pod["spec"]["tolerations"]) {
      EXPECT_GE(toleration["tolerationSeconds"], 60) << toleration["key"];
      EXPECT_LT(toleration["tolerationSeconds"], 300) << "Kubernetes' own";
    }
  }
  EXPECT_FALSE(Server(MakeTrainingJob("a").Build())["spec"].contains("tolerations"))
      << "without backups its machine is waited for";
}

// https://kubernetes.io/docs/concepts/security/pod-security-standards/ "restricted"
TEST(PodsTest, EverythingPassesPodSecurityRestricted) {
  for (const Json& pod : {Server(MakeTrainingJob("w").Build()), Worker(MakeTrainingJob("w").Build())}) {
    EXPECT_EQ(pod["spec"]["securityContext"]["runAsNonRoot"], true);
    EXPECT_EQ(pod["spec"]["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    for (const char* list : {"containers", "initContainers"}) {
      for (const Json& container : pod["spec"][list]) {
        EXPECT_EQ(container["securityContext"]["allowPrivilegeEscalation"], false) << container["name"];
        EXPECT_THAT(container["securityContext"]["capabilities"]["drop"], ElementsAre("ALL")) << container["name"];
      }
    }
  }
}

TEST(PodsTest, AUsersTemplateIsCompletedNotOverruled) {
  const Json user = {
      {"metadata", {{"labels", {{"team", "nlp"}, {contract::kLabelIndex, "99"}}}, {"annotations", {{"a", "b"}}}}},
      {"spec",
       {{"nodeSelector", {{"gpu", "no"}}},
        {"terminationGracePeriodSeconds", 5},
        {"volumes", Json::array({{{"name", "corpus"}, {"hostPath", {{"path", "/data"}}}}})},
        {"containers", Json::array({{{"name", "logger"}, {"image", "l"}},
                                    {{"name", "worker"},
                                     {"image", "x"},
                                     {"env", Json::array({{{"name", "MY"}, {"value", "1"}}})},
                                     {"securityContext", {{"runAsUser", 7}}}}})}}}};
  const Json pod = Worker(MakeTrainingJob("w").WorkerTemplate(user).Build());
  EXPECT_EQ(kube::Label(pod, "team"), "nlp");
  EXPECT_EQ(kube::Label(pod, contract::kLabelIndex), "3") << "labels we rely on are ours";
  EXPECT_EQ(kube::Annotation(pod, "a"), "b");
  EXPECT_EQ(pod["spec"]["nodeSelector"]["gpu"], "no");
  EXPECT_EQ(pod["spec"]["terminationGracePeriodSeconds"], 5);
  Named(pod["spec"]["volumes"], "corpus");
  const Json& worker = Named(pod["spec"]["containers"], "worker");
  EXPECT_EQ(Env(worker, "MY"), "1");
  EXPECT_EQ(worker["securityContext"]["runAsUser"], 7);
  EXPECT_EQ(pod["spec"]["containers"].size(), 2U);
}

TEST(PodsTest, PullSecretsAreAddedToThoseOfTheTemplate) {
  EXPECT_FALSE(Worker(MakeTrainingJob("w").Build())["spec"].contains("imagePullSecrets"));
  const Json user = {{"spec",
                      {{"imagePullSecrets", Json::array({{{"name", "own"}}, {{"name", "shared"}}})},
                       {"containers", Json::array({{{"name", "worker"}, {"image", "x"}}})}}}};
  const PlanOptions options{.image_pull_secrets = {"shared", "registry"}};
  const auto job = MakeTrainingJob("w").WorkerTemplate(user).Build();
  EXPECT_EQ(BuildPod(job, RoleName::kWorker, 3, 2, options)["spec"]["imagePullSecrets"],
            Json::array({{{"name", "own"}}, {{"name", "shared"}}, {{"name", "registry"}}}));
  EXPECT_EQ(BuildPod(job, RoleName::kServer, 0, 2, options)["spec"]["imagePullSecrets"],
            Json::array({{{"name", "shared"}}, {{"name", "registry"}}}));
}

TEST(PodsTest, PlacementIsAPreferenceAndNeverARequirement) {
  using api::ServerPlacement, api::WorkerPlacement;
  api::TrainingJob job = MakeTrainingJob("w").Build();
  EXPECT_FALSE(Server(job)["spec"].contains("affinity"));
  EXPECT_FALSE(Server(job)["spec"].contains("topologySpreadConstraints"));
  job.spec.placement = {.servers = ServerPlacement::kWithWorkers, .workers = WorkerPlacement::kSpread};
  const auto near = [](const Json& pod) {
    return At(pod, {"spec", "affinity", "podAffinity", "preferredDuringSchedulingIgnoredDuringExecution"});
  };
  ASSERT_EQ(near(Server(job)).size(), 1U);
  EXPECT_EQ(near(Server(job))[0]["podAffinityTerm"]["topologyKey"], "kubernetes.io/hostname");
  EXPECT_EQ(near(Server(job))[0]["podAffinityTerm"]["labelSelector"]["matchLabels"],
            Json({{contract::kLabelJobUid, job.uid}, {contract::kLabelRole, "worker"}}));
  EXPECT_EQ(near(Worker(job))[0]["podAffinityTerm"]["labelSelector"]["matchLabels"][contract::kLabelRole], "server");
  const Json spread = Worker(job)["spec"]["topologySpreadConstraints"];
  ASSERT_EQ(spread.size(), 1U);
  EXPECT_EQ(spread[0]["whenUnsatisfiable"], "ScheduleAnyway");
  EXPECT_EQ(Worker(job).dump().find("required"), std::string::npos);
  job.spec.placement = {.servers = ServerPlacement::kPack, .workers = WorkerPlacement::kPack, .topology_key = "zone"};
  EXPECT_EQ(near(Worker(job))[0]["podAffinityTerm"]["topologyKey"], "zone");
  EXPECT_EQ(near(Worker(job))[0]["podAffinityTerm"]["labelSelector"]["matchLabels"].size(), 1U) << "any of the job";
}

TEST(PodsTest, ATemplatesOwnSpreadStays) {
  const Json own = {{"maxSkew", 3}, {"topologyKey", "kubernetes.io/hostname"}, {"whenUnsatisfiable", "DoNotSchedule"}};
  api::TrainingJob job = MakeTrainingJob("w")
                             .WorkerTemplate({{"spec",
                                               {{"topologySpreadConstraints", Json::array({own})},
                                                {"containers", Json::array({{{"name", "worker"}, {"image", "x"}}})}}}})
                             .Build();
  job.spec.placement.workers = api::WorkerPlacement::kSpread;
  EXPECT_EQ(Worker(job)["spec"]["topologySpreadConstraints"], Json::array({own}));
}

TEST(PodsTest, CertificatesAndTokenGoToTheRolesOwnContainerOnly) {
  const auto job = MakeTrainingJob("w").Security("w-tls", "w-token").Build();
  for (const auto& [pod, role] : {std::pair(Server(job), "server"), std::pair(Worker(job), "worker")}) {
    const Json& own = Named(pod["spec"]["containers"], role);
    EXPECT_EQ(Env(own, contract::kEnvTlsDirectory), contract::kTlsDirectoryPath);
    EXPECT_EQ(Env(own, contract::kEnvJobTokenFile), std::string(contract::kJobTokenDirectory) + "/token");
    EXPECT_EQ(Named(own["volumeMounts"], "attune-tls")["readOnly"], true);
    EXPECT_EQ(Named(pod["spec"]["volumes"], "attune-tls")["secret"]["secretName"], "w-tls");
    EXPECT_EQ(Named(pod["spec"]["volumes"], "attune-job-token")["secret"]["secretName"], "w-token");
    EXPECT_EQ(Named(pod["spec"]["initContainers"], contract::kSidecarContainer).dump().find("attune-tls"),
              std::string::npos);
  }
  EXPECT_EQ(Worker(MakeTrainingJob("w").Build()).dump().find("attune-tls"), std::string::npos);
}

TEST(PodsTest, BothRolesAreToldHowRowsTravel) {
  const auto encrypted = MakeTrainingJob("w").Transport(api::Transport::kEncrypted).Build();
  for (const auto& [pod, role] : {std::pair(Server(encrypted), "server"), std::pair(Worker(encrypted), "worker")}) {
    EXPECT_EQ(Env(Named(pod["spec"]["containers"], role), contract::kEnvTransport), contract::kTransportEncrypted);
  }
  EXPECT_EQ(Worker(MakeTrainingJob("w").Build()).dump().find(contract::kEnvTransport), std::string::npos);
}

TEST(PodsTest, AModelClaimIsMountedInEveryPod) {
  const auto job = MakeTrainingJob("w").Claim("models").Build();
  for (const Json& pod : {Server(job), Worker(job)}) {
    EXPECT_EQ(Named(pod["spec"]["volumes"], "attune-model")["persistentVolumeClaim"]["claimName"], "models");
  }
  EXPECT_TRUE(Named(Worker(MakeTrainingJob("w").Build())["spec"]["volumes"], "attune-model").contains("emptyDir"));
}

}  // namespace
}  // namespace attune::controller::pods_test
