// The conformance suite against a real API server: kube_conformance_test, run by the cluster tier with
// ATTUNE_TEST_KUBECONFIG set (tests/cluster/run). Without the variable there is no server to test and the program runs
// no test.
#include <cstdlib>
#include <iostream>
#include <mutex>

#include "operator/kube/client/rest_api.h"
#include "tests/operator/kube/api_conformance.h"

namespace attune::kube {
namespace {

const ResourceType kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
                                false};
const ResourceType kTestJobs{"conformance.attune.dev", "v1alpha1", "trainingjobs", "TrainingJob"};

Json Definition() {
  Json any = {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  Json version = {
      {"name", kTestJobs.version},
      {"served", true},
      {"storage", true},
      {"schema", {{"openAPIV3Schema", {{"type", "object"}, {"properties", {{"spec", any}, {"status", any}}}}}}},
      {"subresources",
       {{"status", Json::object()},
        {"scale",
         {{"specReplicasPath", ".spec.workers.replicas"},
          {"statusReplicasPath", ".status.workers.replicas"},
          {"labelSelectorPath", ".status.workerSelector"}}}}}};
  return {{"apiVersion", kDefinitions.api_version()},
          {"kind", kDefinitions.kind},
          {"metadata", {{"name", kTestJobs.plural + "." + kTestJobs.group}}},
          {"spec",
           {{"group", kTestJobs.group},
            {"scope", "Namespaced"},
            {"names", {{"plural", kTestJobs.plural}, {"singular", "trainingjob"}, {"kind", kTestJobs.kind}}},
            {"versions", Json::array({version})}}}};
}

bool IsTrue(const Json& definition, std::string_view type) {
  for (const Json& condition : At(definition, {"status", "conditions"})) {
    if (condition.value("type", "") == type) return condition.value("status", "") == "True";
  }
  return false;
}

Status Install(Api& api) {
  RETURN_IF_ERROR(api.Apply(kDefinitions, Definition(), {.field_manager = "conformance"}).status());
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < deadline) {
    ASSIGN_OR_RETURN(Json definition, api.Get(kDefinitions, {"", kTestJobs.plural + "." + kTestJobs.group}));
    // Established precedes the kind being served by a moment.
    if (IsTrue(definition, "Established") && api.List(kTestJobs, {}).ok()) return OkStatus();
  }
  return Error(StatusCode::kDeadlineExceeded, "the test's definition was not established within 30 s");
}

StatusOr<std::unique_ptr<Api>> Connect(const std::string& kubeconfig) {
  ASSIGN_OR_RETURN(ClientConfig config, LoadKubeconfig(kubeconfig, ""));
  ASSIGN_OR_RETURN(std::unique_ptr<Api> api, MakeRestApi(config));
  static std::mutex mutex;
  static bool installed = false;
  std::lock_guard lock(mutex);
  if (!installed) RETURN_IF_ERROR(Install(*api));
  installed = true;
  return api;
}

std::vector<ConformanceTarget> Targets() {
  const char* kubeconfig = std::getenv("ATTUNE_TEST_KUBECONFIG");
  if (kubeconfig == nullptr) return {};
  std::string path = kubeconfig;
  return {ConformanceTarget{.name = "Cluster",
                            .make = [path] { return Connect(path); },
                            .job = kTestJobs,
                            .watch_with_bookmark = std::chrono::seconds(10)}};
}

INSTANTIATE_TEST_SUITE_P(Server, ApiConformance, ::testing::ValuesIn(Targets()), TargetName);

}  // namespace
}  // namespace attune::kube
