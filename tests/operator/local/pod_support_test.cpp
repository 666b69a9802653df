#include "operator/local/nodes/pod_support.h"

#include <gmock/gmock.h>

#include "operator/local/containers/container_program.h"

namespace attune::local::pod_support_test {
namespace {

using kube::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Texts(const std::vector<api::FieldProblem>& problems) {
  std::vector<std::string> texts;
  for (const api::FieldProblem& problem : problems) texts.push_back(ToString(problem));
  return texts;
}

TEST(PodSupportTest, WhatCannotBeDoneIsRefusedAndWhatHasNoEffectIsNamed) {
  const Json pod_template = Json::parse(R"({"spec": {
    "nodeSelector": {"disk": "ssd"}, "tolerations": [], "restartPolicy": "Never", "hostNetwork": true,
    "volumes": [{"name": "a", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "c", "configMap": {"name": "c"}}],
    "containers": [{"name": "worker", "image": "w", "ports": [{"containerPort": 80}], "command": ["w"],
      "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
              {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
              {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "status.startTime"}}}],
      "envFrom": [{"secretRef": {"name": "s"}}],
      "resources": {"requests": {"cpu": 1}, "limits": {"cpu": 1, "nvidia.com/gpu": 1}},
      "readinessProbe": {"grpc": {"port": 1}}, "livenessProbe": {"exec": {"command": ["w"]}},
      "volumeMounts": [{"name": "a", "mountPath": "/a", "readOnly": true}]}]}})");
  const PodSupport support = CheckPodSupport(pod_template, "t");
  EXPECT_THAT(
      Texts(support.refused),
      ElementsAre(HasSubstr("t.spec.containers[0].env[0].valueFrom.secretKeyRef: found what this machine cannot do"),
                  HasSubstr("t.spec.containers[0].env[2].valueFrom.fieldRef.fieldPath: found \"status.startTime\"; "
                            "allowed: metadata.name"),
                  HasSubstr("t.spec.containers[0].envFrom"), HasSubstr("t.spec.containers[0].readinessProbe.grpc"),
                  HasSubstr("t.spec.volumes[1].configMap")));
  EXPECT_THAT(support.without_effect,
              ElementsAre("t.spec.containers[0].livenessProbe", "t.spec.containers[0].resources.limits.nvidia.com/gpu",
                          "t.spec.containers[0].volumeMounts[0].readOnly", "t.spec.hostNetwork", "t.spec.nodeSelector",
                          "t.spec.volumes[0].emptyDir.sizeLimit"));
}

TEST(PodSupportTest, ProgramsThatAreNotThereAreFoundBeforehand) {
  const auto missing = [](const char* container, const char* role = "worker") {
    const Json pod_template = {{"spec", {{"containers", Json::array({Json::parse(container)})}}}};
    return Texts(FindMissingPrograms(pod_template, "t", role, {"/bin"}));
  };
  EXPECT_THAT(missing(R"({"name": "worker", "command": ["sh"]})"), IsEmpty());
  EXPECT_THAT(missing(R"({"name": "worker", "command": ["/bin/sh"]})"), IsEmpty());
  EXPECT_THAT(
      missing(R"({"name": "worker", "command": ["/opt/nowhere/sh"]})"),
      ElementsAre(HasSubstr("t.spec.containers[0].command[0]: found \"/opt/nowhere/sh\"; allowed: a program of this "
                            "machine: there is no program /opt/nowhere/sh")));
  EXPECT_THAT(missing(R"({"name": "worker", "command": ["no-such-program"]})"),
              ElementsAre(HasSubstr("looked in /bin")));
  EXPECT_THAT(missing(R"({"name": "worker", "workingDir": "/bin", "command": ["./sh"]})"), IsEmpty());
  EXPECT_THAT(missing(R"({"name": "worker", "image": "attune/no-such:dev"})"),
              ElementsAre(HasSubstr("neither attune-no-such nor no-such is there")));
  EXPECT_THAT(missing(R"({"name": "worker"})"), ElementsAre(HasSubstr("neither command nor image")));
  // Known only when the pod starts.
  EXPECT_THAT(missing(R"({"name": "worker", "command": ["$(WHERE)/w"]})"), IsEmpty());
  EXPECT_THAT(
      missing(R"({"name": "worker", "command": ["/code/w"], "volumeMounts": [{"name": "c", "mountPath": "/code"}]})"),
      IsEmpty());
  EXPECT_THAT(missing(R"({"name": "server"})", "server"), IsEmpty()) << "the operator names its program";
}

TEST(ContainerEnvironmentTest, IsThatOfTheRunExceptWhatBelongsToOthers) {
  const Variables inherited = {
      {"OMP_NUM_THREADS", "1"}, {"CUDA_VISIBLE_DEVICES", "0"}, {"PATH", "/usr/bin"}, {"PWD", "/here"},
      {"ATTUNE_JOB", "outer"},  {"ATTUNE_LOG_LEVEL", "debug"}, {"SHLVL", "2"},       {"KUBERNETES_SERVICE_HOST", "x"},
      {"HOSTNAME", "machine"},  {"STATED", "outside"}};
  Launch launch;
  launch.environment = {{"STATED", "in the manifest"}};
  EXPECT_THAT(EnvironmentOf("pod-0", launch, {"/opt/attune"}, inherited),
              ElementsAre("ATTUNE_LOG_LEVEL=debug", "CUDA_VISIBLE_DEVICES=0", "HOSTNAME=pod-0", "OMP_NUM_THREADS=1",
                          "PATH=/opt/attune:/usr/bin", "STATED=in the manifest"));
}

}  // namespace
}  // namespace attune::local::pod_support_test
