#include "cli/doctor/cluster_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/cli/doctor/healthy_cluster.h"

namespace attune::cli::cluster_findings_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Level = Finding::Level;

const Status kForbidden = Error(StatusCode::kPermissionDenied, "nodes is forbidden");

void Take(std::vector<AskedRight>& rights, const std::string& right) {
  for (AskedRight& asked : rights) {
    if (ToString(asked.right) == right) asked.allowed = false;
  }
}

void Drop(kube::Json& kinds, const std::string& name) {
  kube::Json rest = kube::Json::array();
  for (const kube::Json& each : kinds["resources"]) {
    if (each["name"] != name) rest.push_back(each);
  }
  kinds["resources"] = rest;
}

// A field that manifests may state, as if the definition were of a version that did not have it.
void DropGoal(kube::Json& definition) {
  definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].erase("goal");
}

TEST(ClusterFindings, OfAClusterThatHasEverythingAllIsWell) {
  const Findings findings = JudgeCluster(HealthyCluster());
  EXPECT_THAT(Complaints(findings), IsEmpty());
  EXPECT_THAT(About(findings, "operator").seen, HasSubstr("attune-system/attune 1.2.3, 2 of 2 replicas ready"));
  EXPECT_THAT(About(findings, "leader").seen, HasSubstr("attune-1, renewed 3s ago"));
  EXPECT_THAT(About(findings, "room").seen, HasSubstr("7 cores and 15.0 GiB are not requested"));
  EXPECT_THAT(About(findings, "images").seen, HasSubstr("sidecars run attune/sidecar:1"));
}

TEST(ClusterFindings, EachFaultIsNamedWithItsMendAndNothingElseIs) {
  struct Fault {
    const char* what;
    std::function<void(ClusterAnswers&)> plant;
    const char* subject;
    Level level;
    const char* seen;
    const char* mend;
  };
  const Fault kFaults[] = {
      {"a Kubernetes before sidecars", [](auto& a) { (*a.kubernetes)["minor"] = "28+"; }, "kubernetes", Level::kProblem,
       "need 1.29", "update the cluster"},
      {"no resizes of pods", [](auto& a) { Drop(*a.core_kinds, "pods/resize"); }, "resize", Level::kWarning,
       "cannot resize pods", "InPlacePodVerticalScaling"},
      {"a clock that is 20 s ahead", [](auto& a) { a.now += 20; }, "clock", Level::kWarning, "20s ahead of", "time"},
      {"a clock that is an hour behind", [](auto& a) { a.now -= 3600; }, "clock", Level::kProblem, "1h00m behind",
       "set-ntp"},
      {"no TrainingJobs", [](auto& a) { Drop(*a.attune_kinds, "trainingjobs"); }, "TrainingJob", Level::kProblem,
       "there can be no jobs", "kubectl --context test apply --server-side -f crds/trainingjob.yaml"},
      {"no policies for all namespaces", [](auto& a) { Drop(*a.attune_kinds, "clustertuningpolicies"); },
       "ClusterTuningPolicy", Level::kProblem, "clustertuningpolicies.attune.dev", "crds/clustertuningpolicy.yaml"},
      {"TrainingJobs of an earlier version", [](auto& a) { DropGoal(*a.definitions["trainingjobs"]); }, "TrainingJob",
       Level::kWarning, "it lacks spec.goal and ", "apply --server-side"},
      {"a user who may not make jobs", [](auto& a) { Take(a.rights, "create trainingjobs"); }, "your rights",
       Level::kProblem, "you may not in namespace team: create trainingjobs", "RoleBinding"},
      {"a user who may not read logs", [](auto& a) { Take(a.rights, "get pods/log"); }, "your rights", Level::kWarning,
       "without: get pods/log", "RoleBinding"},
      {"no operator", [](auto& a) { a.deployments = JsonList(), a.operators.clear(); }, "operator", Level::kProblem,
       "none is installed", "helm install attune"},
      {"an operator of which one replica waits for its image",
       [](auto& a) {
         a.operators[0].shape.ready = 1;
         (*a.operators[0].pods)[1]["status"]["containerStatuses"] = {
             {{"image", "attune/operator:1"}, {"state", {{"waiting", {{"reason", "ImagePullBackOff"}}}}}}};
       },
       "operator", Level::kWarning, "1 of 2 replicas ready; attune-2: ImagePullBackOff (attune/operator:1)",
       "-n attune-system describe pods"},
      {"an operator of an earlier version", [](auto& a) { a.operators[0].shape.version = "1.0.0"; }, "operator",
       Level::kWarning, "is version 1.0.0, and this program 1.2.3", "helm upgrade attune"},
      {"no leader", [](auto& a) { (*a.operators[0].lease)["spec"]["holderIdentity"] = ""; }, "leader", Level::kProblem,
       "has no holder", "logs deployment/attune"},
      {"no Lease",
       [](auto& a) { a.operators[0].lease = Error(StatusCode::kNotFound, "leases attune-operator not found"); },
       "leader", Level::kProblem, "does not exist", "logs deployment/attune"},
      {"a leader that stopped renewing",
       [](auto& a) { (*a.operators[0].lease)["spec"]["renewTime"] = "2027-01-15T07:58:00Z"; }, "leader",
       Level::kProblem, "attune-1 has not renewed Lease attune-system/attune-operator for 2m00s", "logs"},
      {"an operator that may not make pods", [](auto& a) { Take(a.operators[0].rights, "create pods"); },
       "operator rights", Level::kProblem, "system:serviceaccount:attune-system:attune may not: create pods",
       "auth can-i create pods --as="},
      {"metrics that may not be read", [](auto& a) { a.operators[0].metrics = kForbidden; }, "metrics", Level::kWarning,
       "could not be looked at", "ask a user"},
      {"another page in the place of the metrics", [](auto& a) { a.operators[0].metrics = std::string("<html>"); },
       "metrics", Level::kWarning, "not with its metrics", "docs/monitoring.md"},
      {"a node that is not ready", [](auto& a) { (*a.nodes)[0]["status"]["conditions"][0]["status"] = "False"; },
       "nodes", Level::kWarning, "1 of 2 nodes ready and open to pods; not ready: node-1", "describe node node-1"},
      {"no node that takes pods",
       [](auto& a) {
         (*a.nodes)[0]["status"]["conditions"][0]["status"] = "False";
         (*a.nodes)[1]["spec"]["unschedulable"] = true;
       },
       "nodes", Level::kProblem, "none of 2 nodes takes pods: 1 not ready, 1 cordoned", "get nodes"},
      {"nodes that are full",
       [](auto& a) {
         for (kube::Json& node : *a.nodes) node["status"]["allocatable"]["cpu"] = "100m";
       },
       "room", Level::kWarning, "pods of jobs may wait", "add nodes"},
      {"no storage class", [](auto& a) { a.storage_classes = JsonList(); }, "storage", Level::kWarning,
       "there is no storage class", "install a provisioner"},
      {"no default storage class", [](auto& a) { (*a.storage_classes)[0]["metadata"].erase("annotations"); }, "storage",
       Level::kWarning, "no class is the default one (fast)", "annotate storageclass fast"},
      {"an image that nodes cannot get",
       [](auto& a) {
         (*a.pods)[0]["status"]["initContainerStatuses"] = {
             {{"image", "attune/sidecar:9"}, {"state", {{"waiting", {{"reason", "ErrImagePull"}}}}}}};
       },
       "images", Level::kProblem, "cannot get attune/sidecar:9 (pod team/j-worker-0)", "describe pod j-worker-0"},
      {"a job whose sidecars are not heard",
       [](auto& a) { (*a.jobs)[0]["status"]["conditions"][0]["status"] = "False"; }, "jobs", Level::kWarning,
       "not heard by the operator: team/j", "NetworkPolicy"}};
  for (const Fault& fault : kFaults) {
    ClusterAnswers answers = HealthyCluster();
    fault.plant(answers);
    const Findings findings = JudgeCluster(answers);
    const Finding found = About(findings, fault.subject);
    EXPECT_EQ(found.level, fault.level) << fault.what << ": " << found.seen;
    EXPECT_THAT(found.seen, HasSubstr(fault.seen)) << fault.what;
    EXPECT_THAT(found.mend, HasSubstr(fault.mend)) << fault.what;
    EXPECT_THAT(Complaints(findings), SizeIs(1)) << fault.what;
  }
}

TEST(ClusterFindings, ThreeFaultsAtOnceAreAllNamed) {
  ClusterAnswers answers = HealthyCluster();
  Drop(*answers.attune_kinds, "clustertuningpolicies");
  answers.operators[0].shape.wanted = answers.operators[0].shape.ready = 0;
  Take(answers.operators[0].rights, "create pods");
  EXPECT_THAT(Complaints(JudgeCluster(answers)),
              UnorderedElementsAre(HasSubstr("clustertuningpolicies.attune.dev"), HasSubstr("is scaled to 0"),
                                   HasSubstr("may not: create pods")));
  EXPECT_THAT(About(JudgeCluster(answers), "operator").mend,
              HasSubstr("kubectl --context test -n attune-system scale deployment attune --replicas=2"));
}

TEST(ClusterFindings, WhereNothingMayBeReadEveryTopicSaysSoAndNoneIsAProblem) {
  ClusterAnswers answers = HealthyCluster();
  answers.core_kinds = answers.attune_kinds = kForbidden;
  answers.server_time = kForbidden;
  answers.deployments = answers.nodes = answers.pods = answers.storage_classes = answers.jobs = kForbidden;
  answers.operators.clear();
  const Findings findings = JudgeCluster(answers);
  EXPECT_FALSE(HasProblem(findings));
  for (const char* subject : {"resize", "clock", "TrainingJob", "operator", "nodes", "storage", "images", "jobs"})
    EXPECT_THAT(About(findings, subject).seen, HasSubstr("could not be looked at: nodes is forbidden")) << subject;
}

TEST(ClusterFindings, OfAnApiServerThatDoesNotAnswerNothingElseIsSaid) {
  ClusterAnswers answers = HealthyCluster();
  answers.kubernetes = Error(StatusCode::kUnavailable, "connection refused");
  const Findings findings = JudgeCluster(answers);
  EXPECT_THAT(findings, SizeIs(2));
  EXPECT_THAT(About(findings, "kubernetes").seen, AllOf(HasSubstr("no answer"), HasSubstr("connection refused")));
  EXPECT_TRUE(HasProblem(findings));
}

TEST(ClusterFindings, AnAnswerThatTookLongIsNoSkewOfTheClock) {
  ClusterAnswers answers = HealthyCluster();
  answers.now += 7;
  answers.answer_seconds = 10;  // the server may have looked at its clock at either end of them
  EXPECT_THAT(Complaints(JudgeCluster(answers)), IsEmpty());
}

TEST(ClusterFindings, AReviewSaysYesOrNoOrThatItIsNotKnown) {
  const auto allowed = [](const char* text) { return IsAllowed(kube::Json::parse(text)); };
  EXPECT_EQ(allowed(R"({"status": {"allowed": true}})").value_or(false), true);
  EXPECT_EQ(allowed(R"({"status": {"allowed": false, "reason": "no rule"}})").value_or(true), false);
  EXPECT_EQ(allowed(R"({"status": {"allowed": false, "denied": true, "evaluationError": "x"}})").value_or(true), false);
  EXPECT_FALSE(allowed(R"({"status": {"allowed": false, "evaluationError": "webhook away"}})").ok());
  EXPECT_FALSE(allowed(R"({"status": {"allowed": "yes"}})").ok());
  EXPECT_FALSE(allowed("{}").ok());
}

TEST(ClusterFindings, ReviewsNameUserGroupAndSubresource) {
  const Right right{.verb = "patch", .group = "attune.dev", .resource = "trainingjobs/status", .name_space = "n"};
  EXPECT_EQ(ReviewOf(right, ""), kube::Json::parse(R"({"apiVersion": "authorization.k8s.io/v1",
    "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {"verb": "patch", "group": "attune.dev",
    "resource": "trainingjobs", "subresource": "status", "namespace": "n"}}})"));
  const kube::Json other = ReviewOf(right, "system:serviceaccount:ops:attune");
  EXPECT_EQ(other["kind"], "SubjectAccessReview");
  EXPECT_EQ(other["spec"]["user"], "system:serviceaccount:ops:attune");
  EXPECT_THAT(other["spec"]["groups"].get<std::vector<std::string>>(),
              ElementsAre("system:serviceaccounts", "system:serviceaccounts:ops", "system:authenticated"));
}

}  // namespace
}  // namespace attune::cli::cluster_findings_test
