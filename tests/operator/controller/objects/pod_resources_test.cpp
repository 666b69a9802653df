#include "operator/controller/objects/pod_resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/objects/pods.h"
#include "tests/operator/controller/execute/fake_cluster.h"

namespace attune::controller::pod_resources_test {
namespace {

using kube::Json;
using Amount = std::optional<int64_t>;
constexpr Amount kNone;

struct Case {
  const char* story;
  ResourceFigures stated;  // in the template
  Amount target;
  ResourceFigures created;
  ResourceFigures live;  // of a pod that runs
  bool given;            // figures of the spec before
  ResourceFigures resized;
};

class PodResources : public ::testing::TestWithParam<Case> {};

TEST_P(PodResources, FollowTemplateAndTarget) {
  const Case& c = GetParam();
  EXPECT_EQ(FiguresOfNewPod(c.stated, c.target), c.created) << c.story;
  const ResourceFigures resized = FiguresOfLivePod(c.stated, c.target, c.live, c.given);
  EXPECT_EQ(resized, c.resized) << c.story;
  EXPECT_EQ(resized.limit.has_value(), c.live.limit.has_value()) << "a limit is neither added nor removed: " << c.story;
  EXPECT_EQ(resized.request.has_value(), c.live.request.has_value()) << "likewise a request: " << c.story;
  EXPECT_EQ(FiguresOfLivePod(c.stated, c.target, resized, c.given), resized) << "asked again: " << c.story;
  if (resized.limit) {
    EXPECT_LE(*resized.request, *resized.limit) << "no API server takes less: " << c.story;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, PodResources,
    ::testing::Values(
        Case{"nothing is asked", {100, 200}, kNone, {100, 200}, {100, 200}, false, {100, 200}},
        Case{"a request below its limit stays", {100, 200}, 400, {100, 400}, {100, 200}, false, {100, 400}},
        Case{"and falls with a limit below it", {100, 200}, 50, {50, 50}, {100, 200}, false, {50, 50}},
        Case{"and is back when the limit grows again", {100, 200}, 300, {100, 300}, {50, 50}, true, {100, 300}},
        Case{"what was equal stays equal", {200, 200}, 400, {400, 400}, {200, 200}, false, {400, 400}},
        Case{"also downwards", {200, 200}, 100, {100, 100}, {200, 200}, false, {100, 100}},
        Case{"only requested: never limited", {100, kNone}, 400, {400, kNone}, {100, kNone}, false, {400, kNone}},
        Case{"not stated: the next pod has it, this one cannot", {}, 400, {400, 400}, {}, false, {}},
        Case{"not stated, but given before", {}, 800, {800, 800}, {400, 400}, true, {800, 800}},
        Case{"the target was taken back", {100, 200}, kNone, {100, 200}, {100, 400}, true, {100, 200}},
        Case{"of what another one has set", {100, 200}, kNone, {100, 200}, {100, 250}, false, {100, 250}},
        Case{"taken back to nothing", {}, kNone, {}, {400, 400}, true, {400, 400}},
        Case{"taken back to no limit", {100, kNone}, kNone, {100, kNone}, {400, 400}, true, {400, 400}},
        Case{"a default limit of the namespace", {}, 400, {400, 400}, {100, 200}, false, {400, 400}},
        Case{"a default request of our own", {}, 400, {400, 400}, {100, kNone}, false, {400, kNone}},
        Case{"limited since it was made", {100, 200}, 400, {100, 400}, {100, kNone}, false, {400, kNone}},
        Case{"not limited any more", {100, kNone}, 400, {400, kNone}, {100, 200}, false, {400, 400}}));

Json WorkerTemplate(Json resources) {
  Json container = {{"name", "worker"}, {"image", "example"}};
  if (!resources.is_null()) container["resources"] = std::move(resources);
  return {{"spec", {{"containers", Json::array({{{"name", "helper"}}, container})}}}};
}

TEST(PodResources, WhereOnlyARangeIsGivenNewPodsBeginInsideIt) {
  struct Row {
    const char* name;
    Json stated;
    api::ResourceTarget cpu, memory;
    Amounts expected;
  };
  const int64_t gib = 1LL << 30;
  const Row rows[] = {
      {"nothing is said", {}, {}, {}, {kNone, kNone}},
      {"a range around the usual", {}, {.min = 250, .max = 4000}, {.max = 4 * gib}, {1000, gib}},
      {"a range below it", {}, {.max = 500}, {.max = gib / 2}, {500, gib / 2}},
      {"a range above it", {}, {.min = 2000, .max = 4000}, {.min = 2 * gib, .max = 4 * gib}, {2000, 2 * gib}},
      {"the least alone is no range", {}, {.min = 2000}, {}, {kNone, kNone}},
      {"a target counts", {}, {.max = 4000, .target = 300}, {}, {300, kNone}},
      {"the template counts", {{"requests", {{"cpu", "200m"}}}}, {.max = 4000}, {.max = 4 * gib}, {kNone, gib}},
  };
  for (const Row& row : rows) {
    auto job = MakeTrainingJob("a").WorkerTemplate(WorkerTemplate(row.stated)).Build();
    job.spec.workers.resources = {.cpu = row.cpu, .memory = row.memory};
    EXPECT_EQ(TargetsOf(job, RoleName::kWorker), row.expected) << row.name;
  }
}

Json ContainerOf(const Json& pod, const std::string& name) {
  for (const Json& container : pod["spec"]["containers"]) {
    if (container["name"] == name) return container;
  }
  return {};
}

TEST(PodResources, ANewWorkerHasTheTargetAndTheRestOfItsTemplate) {
  const Json stated = {{"requests", {{"cpu", "500m"}, {"memory", "1Gi"}}},
                       {"limits", {{"cpu", 1}, {"memory", "1Gi"}, {"example.com/gpu", 1}}}};
  auto job = MakeTrainingJob("a").WorkerTemplate(WorkerTemplate(stated)).Build();
  Json worker = ContainerOf(BuildPod(job, RoleName::kWorker, 0, 1, {}), "worker");
  EXPECT_EQ(worker["resources"], stated) << "no target";
  job.spec.workers.resources.cpu.target = 2000;
  job.spec.workers.resources.memory.target = 3LL << 29;
  const Json pod = BuildPod(job, RoleName::kWorker, 0, 1, {});
  worker = ContainerOf(pod, "worker");
  EXPECT_EQ(worker["resources"], Json::parse(R"({"requests": {"cpu": "500m", "memory": "1536Mi"},
                            "limits": {"cpu": "2", "memory": "1536Mi", "example.com/gpu": 1}})"));
  EXPECT_EQ(worker["resizePolicy"], Json::parse(R"([{"resourceName": "cpu", "restartPolicy": "NotRequired"},
                                                    {"resourceName": "memory", "restartPolicy": "NotRequired"}])"));
  EXPECT_FALSE(ContainerOf(pod, "helper").contains("resizePolicy"));
  EXPECT_EQ(ObservePod(pod).resize.record, (ResizeRecord{.from = {}, .to = {2000, 3LL << 29}, .done = true}));
}

TEST(PodResources, AStatedResizePolicyStands) {
  Json pod_template = WorkerTemplate(nullptr);
  pod_template["spec"]["containers"][1]["resizePolicy"] = Json::array();
  const auto job = MakeTrainingJob("a").WorkerTemplate(pod_template).Build();
  EXPECT_EQ(ContainerOf(BuildPod(job, RoleName::kWorker, 0, 1, {}), "worker")["resizePolicy"], Json::array());
}

TEST(PodResources, ABuiltInServerRequestsLittleUntilTheSpecGivesItFigures) {
  auto job = MakeTrainingJob("a").Build();
  const auto server = [&] { return ContainerOf(BuildPod(job, RoleName::kServer, 0, 1, {}), "server"); };
  EXPECT_EQ(server()["resources"], Json::parse(R"({"requests": {"cpu": "100m", "memory": "128Mi"}})"));
  job.spec.servers.resources.memory.target = 2LL << 30;
  EXPECT_EQ(server()["resources"],
            Json::parse(R"({"requests": {"cpu": "100m", "memory": "2Gi"}, "limits": {"memory": "2Gi"}})"));
}

TEST(PodResources, AChangeIsDescribedByWhatDiffers) {
  EXPECT_EQ(DescribeChange({1000, 512 << 20}, {2000, 1 << 30}), "cpu 1 -> 2, memory 512Mi -> 1Gi");
  EXPECT_EQ(DescribeChange({1000, 512 << 20}, {1500, 512 << 20}), "cpu 1 -> 1500m");
  EXPECT_EQ(DescribeChange({}, {2000, kNone}), "cpu 2");
  EXPECT_EQ(DescribeChange({1000, kNone}, {1000, kNone}), "cpu 1") << "asked for again";
}

TEST(PodResources, APatchNamesWhatDiffers) {
  const ContainerFigures live{.cpu = {100, 200}, .memory = {1 << 20, kNone}};
  ContainerFigures wanted = live;
  EXPECT_TRUE(ResourcesPatch(wanted, live).empty());
  wanted.cpu = {100, 1500};
  EXPECT_EQ(ResourcesPatch(wanted, live), Json::parse(R"({"requests": {"cpu": "100m"}, "limits": {"cpu": "1500m"}})"));
  wanted = live;
  wanted.memory.request = 2 << 20;
  EXPECT_EQ(ResourcesPatch(wanted, live), Json::parse(R"({"requests": {"memory": "2Mi"}})"));
}

}  // namespace
}  // namespace attune::controller::pod_resources_test
