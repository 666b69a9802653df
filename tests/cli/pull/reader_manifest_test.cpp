#include "cli/pull/reader_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/objects/pods.h"
#include "proto/contract.h"

namespace attune::cli::reader_manifest_test {
namespace {

using kube::Json;
using ::testing::HasSubstr;

api::TrainingJob Job() {
  api::TrainingJob job;
  job.name = "w2v";
  job.name_space = "team";
  job.uid = "uid-1";
  return job;
}
const WantedReader kWanted{.claim = "models", .directory = "/var/lib/attune/model/w2v", .token_sha256 = "5a"};

// As the operator makes them.
Json PodOfJob() {
  Json pod = controller::BuildPod(Job(), controller::RoleName::kWorker, 0, 1,
                                  {.sidecar_image = "registry/attune/sidecar:1", .image_pull_policy = "Never"});
  pod["spec"]["tolerations"].push_back({{"key", "accelerator"}, {"operator", "Exists"}});
  pod["spec"]["imagePullSecrets"] = Json::array({{{"name", "registry"}}});
  pod["spec"]["nodeSelector"] = {{"kubernetes.io/arch", "amd64"}, {"accelerator", "large"}};
  pod["spec"]["securityContext"]["fsGroup"] = 1234;
  return pod;
}

TEST(ReaderManifest, ReadsTheClaimAndNothingElse) {
  const auto pod = BuildReader(Job(), {PodOfJob()}, kWanted);
  ASSERT_TRUE(pod.ok()) << pod.status();
  const Json& spec = pod->at("spec");
  ASSERT_EQ(spec.at("containers").size(), 1U);
  const Json& container = spec.at("containers").at(0);
  EXPECT_EQ(container.at("image"), "registry/attune/sidecar:1");
  EXPECT_EQ(container.at("imagePullPolicy"), "Never");
  EXPECT_EQ(container.at("command"), Json::array({"attune-sidecar", "files"}));
  EXPECT_EQ(container.at("args"), Json::array({"--directory", kWanted.directory, "--port", "7403", "--token-sha256",
                                               "5a", "--idle-seconds", "300"}));
  EXPECT_EQ(spec.at("volumes"),
            Json::array({{{"name", "model"}, {"persistentVolumeClaim", {{"claimName", "models"}}}}}));
  ASSERT_EQ(container.at("volumeMounts").size(), 1U);
  EXPECT_EQ(container.at("volumeMounts").at(0).at("readOnly"), true);
  EXPECT_FALSE(container.contains("env"));
}

TEST(ReaderManifest, IsRestrictedBoundedAndGoesWithTheJob) {
  const Json pod = *BuildReader(Job(), {}, {.claim = "m", .directory = "/d", .token_sha256 = "5a", .image = "i"});
  const Json& spec = pod.at("spec");
  const Json& security = spec.at("containers").at(0).at("securityContext");
  EXPECT_EQ(security.at("readOnlyRootFilesystem"), true);
  EXPECT_EQ(security.at("allowPrivilegeEscalation"), false);
  EXPECT_EQ(security.at("capabilities").at("drop"), Json::array({"ALL"}));
  EXPECT_EQ(security.at("runAsNonRoot"), true);
  EXPECT_EQ(spec.at("securityContext").at("seccompProfile").at("type"), "RuntimeDefault");
  EXPECT_EQ(spec.at("restartPolicy"), "Never");
  EXPECT_EQ(spec.at("automountServiceAccountToken"), false);
  EXPECT_EQ(spec.at("activeDeadlineSeconds"), 43'200);
  for (const char* which : {"requests", "limits"}) {
    for (const char* what : {"cpu", "memory"})
      EXPECT_TRUE(spec.at("containers").at(0).at("resources").at(which).contains(what));
  }
  EXPECT_EQ(kube::KeyOf(pod), (kube::ObjectKey{"team", "w2v-model-reader"}));
  EXPECT_EQ(pod.at("metadata").at("ownerReferences").at(0).at("uid"), "uid-1");
}

TEST(ReaderManifest, IsNoPodOfTheJob) {
  const Json pod = *BuildReader(Job(), {PodOfJob()}, kWanted);
  EXPECT_EQ(pod.at("metadata").at("labels").size(), 1U);
  EXPECT_EQ(kube::Label(pod, contract::kLabelJob), "");
  EXPECT_FALSE(controller::IsOwnedBy(pod, Job()));
  EXPECT_FALSE(pod.at("metadata").contains("finalizers"));
}

TEST(ReaderManifest, RunsWhereThePodsOfTheJobDo) {
  const Json spec = BuildReader(Job(), {Json::object(), PodOfJob()}, kWanted)->at("spec");
  EXPECT_EQ(spec.at("securityContext").at("fsGroup"), 1234);
  EXPECT_EQ(spec.at("imagePullSecrets").at(0).at("name"), "registry");
  EXPECT_EQ(spec.at("tolerations").back().at("key"), "accelerator");
  EXPECT_EQ(spec.at("nodeSelector"), (Json{{"kubernetes.io/arch", "amd64"}}));
  EXPECT_THAT(spec.at("affinity").dump(), HasSubstr("uid-1"));
}

TEST(ReaderManifest, WithoutPodsTheImageHasToBeNamed) {
  const auto pod = BuildReader(Job(), {}, kWanted);
  ASSERT_EQ(pod.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(pod.status())), HasSubstr("--image"));
}

Json Waiting(const char* reason, const char* message) {
  Json status;
  status["phase"] = "Pending";
  status["containerStatuses"] = Json::array({{{"state", {{"waiting", {{"reason", reason}, {"message", message}}}}}}});
  return {{"status", status}};
}
Json Ended(const char* phase, int code, const char* reason) {
  Json status;
  status["phase"] = phase;
  status["containerStatuses"] = Json::array({{{"state", {{"terminated", {{"exitCode", code}, {"reason", reason}}}}}}});
  return {{"status", status}};
}

TEST(ReaderManifest, WhatAReaderWaitsForIsSaid) {
  using Kind = ReaderState::Kind;
  const Json unscheduled = {
      {"status",
       {{"phase", "Pending"},
        {"conditions", Json::array({{{"type", "PodScheduled"},
                                     {"status", "False"},
                                     {"reason", "Unschedulable"},
                                     {"message", "0/3 nodes are available: unbound claims"}}})}}}};
  const Json pending = {{"status", {{"phase", "Pending"}}}};
  const auto warning = [](const char* time, const char* note) {
    return Json{{"type", "Warning"}, {"reason", "FailedMount"}, {"note", note}, {"deprecatedLastTimestamp", time}};
  };
  const std::vector<Json> events = {warning("2027-01-15T08:00:09Z", "no path"),
                                    warning("2027-01-15T08:00:02Z", "older"),
                                    Json{{"type", "Normal"}, {"reason", "Scheduled"}, {"note", "to node-1"}}};
  struct Case {
    const char* name;
    Json pod;
    std::vector<Json> events;
    Kind kind;
    const char* want;
  };
  const Case cases[] = {
      {"it runs", {{"status", {{"phase", "Running"}}}}, {}, Kind::kRunning, ""},
      {"nothing is known", Json::object(), {}, Kind::kWaiting, "its container is being made"},
      {"no machine takes it",
       unscheduled,
       {},
       Kind::kWaiting,
       "Unschedulable: 0/3 nodes are available: unbound claims"},
      {"its volume does not come", pending, events, Kind::kWaiting, "FailedMount: no path"},
      {"its image is being pulled",
       pending,
       {Json{{"type", "Normal"}, {"reason", "Pulling"}, {"note", "Pulling image i"}}},
       Kind::kWaiting,
       "Pulling: Pulling image i"},
      {"its image does not come", Waiting("ImagePullBackOff", "Back-off pulling"), events, Kind::kWaiting,
       "ImagePullBackOff: Back-off pulling"},
      {"its image is not there", Waiting("ErrImageNeverPull", "not present"), {}, Kind::kFailed, "ErrImageNeverPull"},
      {"it is being made", Waiting("ContainerCreating", ""), events, Kind::kWaiting, "FailedMount"},
      {"its image has no such program", Ended("Failed", 128, "StartError"), {}, Kind::kFailed, "--image"},
      {"its image is of another release",
       Ended("Failed", 2, "Error"),
       {},
       Kind::kFailed,
       "exit code 2, Error; its image"},
      {"no request came", Ended("Succeeded", 0, "Completed"), {}, Kind::kFailed, "exit code 0, Completed"},
      {"it was evicted",
       {{"status", {{"phase", "Failed"}, {"reason", "Evicted"}, {"message", "disk pressure"}}}},
       {},
       Kind::kFailed,
       "it has ended: Evicted: disk pressure"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const ReaderState state = StateOfReader(c.pod, c.events);
    EXPECT_EQ(state.kind, c.kind);
    EXPECT_THAT(state.text, HasSubstr(c.want));
  }
}

}  // namespace
}  // namespace attune::cli::reader_manifest_test
