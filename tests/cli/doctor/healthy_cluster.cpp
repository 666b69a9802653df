#include "tests/cli/doctor/healthy_cluster.h"

#include <gtest/gtest.h>

#include "operator/api/crd.h"
#include "operator/api/policy/policy.h"

namespace attune::cli {
namespace {

kube::Json Parsed(const char* text) { return kube::Json::parse(text); }

kube::Json Deployment() {
  return Parsed(R"({"metadata": {"name": "attune", "namespace": "attune-system",
                                 "labels": {"app.kubernetes.io/version": "1.2.3"}},
    "spec": {"replicas": 2, "template": {"spec": {"serviceAccountName": "attune", "containers": [
      {"name": "operator", "image": "attune/operator:1", "args": ["--server-image=attune/server:1",
       "--sidecar-image=attune/sidecar:1", "--leader-elect", "--leader-elect-name=attune-operator"]}]}}},
    "status": {"readyReplicas": 2}})");
}

kube::Json ReadyPod(const char* name) {
  kube::Json pod = Parsed(R"({"metadata": {"namespace": "attune-system"}, "status": {"phase": "Running",
    "conditions": [{"type": "Ready", "status": "True"}]}})");
  pod["metadata"]["name"] = name;
  return pod;
}

kube::Json Node(const char* name) {
  kube::Json node = Parsed(R"({"status": {"allocatable": {"cpu": "4", "memory": "8Gi"},
    "conditions": [{"type": "Ready", "status": "True"}]}})");
  node["metadata"]["name"] = name;
  return node;
}

std::vector<AskedRight> All(const std::vector<Right>& rights) {
  std::vector<AskedRight> asked;
  for (const Right& right : rights) asked.push_back({right, true});
  return asked;
}

}  // namespace

ClusterAnswers HealthyCluster() {
  ClusterAnswers answers;
  answers.where = "the cluster of context test";
  answers.kubectl = "kubectl --context test";
  answers.version = "1.2.3";
  answers.name_space = "team";
  answers.now = kNow + 0.5;
  answers.kubernetes = Parsed(R"({"major": "1", "minor": "34", "gitVersion": "v1.34.1"})");
  answers.server_time = static_cast<int64_t>(kNow);
  answers.core_kinds = Parsed(R"({"resources": [{"name": "pods"}, {"name": "pods/resize"}]})");
  answers.attune_kinds = Parsed(
      R"({"resources": [{"name": "trainingjobs"}, {"name": "tuningpolicies"}, {"name": "clustertuningpolicies"}]})");
  answers.definitions = {{"trainingjobs", api::TrainingJobCrd()},
                         {"tuningpolicies", api::TuningPolicyCrd()},
                         {"clustertuningpolicies", api::ClusterTuningPolicyCrd()}};
  answers.rights = All(RightsOfAUser("team"));
  answers.deployments = JsonList{Deployment()};
  OperatorAnswers each;
  each.shape = ShapeOf(Deployment());
  each.pods = JsonList{ReadyPod("attune-1"), ReadyPod("attune-2")};
  each.lease = Parsed(R"({"spec": {"holderIdentity": "attune-1", "leaseDurationSeconds": 15,
                                   "renewTime": "2027-01-15T07:59:57.000000Z"}})");
  each.metrics = std::string("attune_operator_build_info{version=\"1.2.3\"} 1\n");
  each.rights = All(RightsOfAnOperator(each.shape.duties));
  answers.operators = {each};
  answers.storage_classes = JsonList{Parsed(R"({"metadata": {"name": "fast", "annotations":
        {"storageclass.kubernetes.io/is-default-class": "true"}}})")};
  answers.nodes = JsonList{Node("node-1"), Node("node-2")};
  answers.pods = JsonList{Parsed(R"({"metadata": {"name": "j-worker-0", "namespace": "team",
      "labels": {"attune.dev/job": "j"}},
    "spec": {"nodeName": "node-1", "containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]},
    "status": {"phase": "Running"}})")};
  answers.jobs = JsonList{Parsed(R"({"apiVersion": "attune.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "j", "namespace": "team"},
    "status": {"phase": "Running", "conditions": [{"type": "MetricsAvailable", "status": "True"}]}})")};
  return answers;
}

Finding About(const Findings& findings, const std::string& subject) {
  for (const Finding& finding : findings) {
    if (finding.subject == subject) return finding;
  }
  ADD_FAILURE() << "nothing is said of " << subject;
  return {};
}

std::vector<std::string> Complaints(const Findings& findings) {
  std::vector<std::string> complaints;
  for (const Finding& finding : findings) {
    if (finding.level != Finding::Level::kOk) complaints.push_back(finding.subject + ": " + finding.seen);
  }
  return complaints;
}

}  // namespace attune::cli
