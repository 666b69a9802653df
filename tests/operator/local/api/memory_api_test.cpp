#include "operator/local/api/memory_api.h"

#include <gmock/gmock.h>

#include "tests/operator/local/objects.h"

namespace attune::local::memory_api_test {
namespace {

using kube::PatchType;
using testing::Json;
using testing::Key;
using testing::MakeJob;
using testing::MakePod;
using testing::OwnedBy;

class MemoryApiTest : public ::testing::Test {
 protected:
  Json Created(const kube::ResourceType& type, const Json& object) {
    const StatusOr<Json> created = api.Create(type, object);
    EXPECT_TRUE(created.ok()) << ToString(created.status());
    return created.ok() ? *created : Json();
  }
  StatusCode CodeOfGet(const kube::ResourceType& type, const std::string& name) {
    return api.Get(type, Key(name)).status().code();
  }
  Json Current(const kube::ResourceType& type, const std::string& name) { return api.Get(type, Key(name)).value(); }

  ManualTime time;
  MemoryApi api{time, {.own_thread = false}};
};

TEST_F(MemoryApiTest, CreateFillsWhatTheServerOwns) {
  const Json job = Created(kube::kTrainingJobs, MakeJob("a"));
  EXPECT_EQ(kube::Generation(job), 1);
  EXPECT_EQ(kube::Uid(job).size(), 36u);
  EXPECT_FALSE(kube::ResourceVersion(job).empty());
  EXPECT_EQ(kube::StringAt(job, {"metadata", "creationTimestamp"}), "2023-11-14T22:13:20Z");
  EXPECT_EQ(*api.Get(kube::kTrainingJobs, Key("a")), job);
}

TEST_F(MemoryApiTest, ErrorsHaveTheServersCodesAndWords) {
  Created(kube::kPods, MakePod("a"));
  EXPECT_EQ(api.Create(kube::kPods, MakePod("a")).status(),
            Error(StatusCode::kAlreadyExists, "pods \"a\" already exists"));
  EXPECT_EQ(api.Get(kube::kTrainingJobs, Key("b")).status(),
            Error(StatusCode::kNotFound, "trainingjobs.attune.dev \"b\" not found"));
  EXPECT_EQ(api.Get({"unknown.dev", "v1", "things", "Thing"}, Key("b")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(api.Create(kube::kPods, MakeJob("x")).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(MemoryApiTest, RefusesBadObjects) {
  const auto with = [](auto change) {
    Json pod = MakePod("a");
    change(pod);
    return pod;
  };
  const std::vector<std::pair<std::string, Json>> cases = {
      {"upper case name", MakePod("A")},
      {"name with slash", MakePod("a/b")},
      {"empty name", MakePod("")},
      {"no containers", with([](Json& pod) { pod["spec"]["containers"] = Json::array(); })},
      {"two containers of one name", with([](Json& pod) {
         pod["spec"]["containers"].push_back({{"name", "main"}});
       })},
      {"unknown restart policy", with([](Json& pod) { pod["spec"]["restartPolicy"] = "Sometimes"; })},
      {"label that is a number", with([](Json& pod) { pod["metadata"]["labels"]["a"] = 1; })},
      {"label with a space", with([](Json& pod) { pod["metadata"]["labels"]["a"] = "b c"; })},
      {"metadata that is a list", with([](Json& pod) { pod["metadata"] = Json::array(); })},
      {"resourceVersion on create", with([](Json& pod) { pod["metadata"]["resourceVersion"] = "5"; })},
      {"no namespace", with([](Json& pod) { pod["metadata"].erase("namespace"); })},
      {"not an object", Json::array()},
  };
  for (const auto& [name, pod] : cases) {
    EXPECT_EQ(api.Create(kube::kPods, pod).status().code(), StatusCode::kInvalidArgument) << name;
  }
}

TEST_F(MemoryApiTest, UpdateWithAnOldVersionIsAConflict) {
  const Json first = Created(kube::kTrainingJobs, MakeJob("a"));
  Json second = first;
  second["spec"]["workers"]["replicas"] = 3;
  const Json updated = api.Update(kube::kTrainingJobs, second).value();
  EXPECT_EQ(kube::Generation(updated), 2);
  EXPECT_EQ(api.Update(kube::kTrainingJobs, second).status().code(), StatusCode::kAborted);
}

TEST_F(MemoryApiTest, AnUpdateThatChangesNothingKeepsTheVersion) {
  const Json first = Created(kube::kTrainingJobs, MakeJob("a"));
  EXPECT_EQ(kube::ResourceVersion(api.Update(kube::kTrainingJobs, first).value()), kube::ResourceVersion(first));
}

TEST_F(MemoryApiTest, StatusAndSpecAreReachedThroughTheirOwnPathsOnly) {
  Json job = Created(kube::kTrainingJobs, MakeJob("a"));
  job["spec"]["workers"]["replicas"] = 7;
  job["status"]["phase"] = "Running";
  job = api.Update(kube::kTrainingJobs, job, "status").value();
  EXPECT_EQ(kube::IntegerAt(job, {"spec", "workers", "replicas"}), 2);
  EXPECT_EQ(kube::StringAt(job, {"status", "phase"}), "Running");
  EXPECT_EQ(kube::Generation(job), 1);
  job["status"]["phase"] = "Failed";
  job["spec"]["workers"]["replicas"] = 7;
  job = api.Update(kube::kTrainingJobs, job).value();
  EXPECT_EQ(kube::StringAt(job, {"status", "phase"}), "Running");
  EXPECT_EQ(kube::Generation(job), 2);
}

TEST_F(MemoryApiTest, ScaleReadsAndWritesTheWorkers) {
  Created(kube::kTrainingJobs, MakeJob("a"));
  ASSERT_TRUE(api.Patch(kube::kTrainingJobs, Key("a"), PatchType::kMerge,
                        {{"status", {{"workers", {{"replicas", 1}}}, {"workerSelector", "x=y"}}}}, "status")
                  .ok());
  const Json scale = api.GetSubresource(kube::kTrainingJobs, Key("a"), "scale").value();
  EXPECT_EQ(scale["spec"]["replicas"], 2);
  EXPECT_EQ(scale["status"]["replicas"], 1);
  EXPECT_EQ(scale["status"]["selector"], "x=y");
  const Json patched =
      api.Patch(kube::kTrainingJobs, Key("a"), PatchType::kMerge, {{"spec", {{"replicas", 5}}}}, "scale").value();
  EXPECT_EQ(patched["spec"]["replicas"], 5);
  EXPECT_EQ(kube::IntegerAt(Current(kube::kTrainingJobs, "a"), {"spec", "workers", "replicas"}), 5);
  EXPECT_EQ(api.Patch(kube::kTrainingJobs, Key("a"), PatchType::kMerge, {{"spec", {{"replicas", -1}}}}, "scale")
                .status()
                .code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(api.GetSubresource(kube::kPods, Key("a"), "scale").status().code(), StatusCode::kNotFound);
}

TEST_F(MemoryApiTest, CustomResourcesTakeNoStrategicMerge) {
  Created(kube::kTrainingJobs, MakeJob("a"));
  EXPECT_EQ(api.Patch(kube::kTrainingJobs, Key("a"), PatchType::kStrategicMerge, Json::object()).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(MemoryApiTest, APodsSpecIsFixedExceptItsResourcesThroughResize) {
  Json pod = MakePod("a");
  pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "1";
  Created(kube::kPods, pod);
  const Json container = {{"name", "main"}, {"resources", {{"limits", {{"cpu", "2"}}}}}};
  const Json patch = {{"spec", {{"containers", Json::array({container})}}}};
  EXPECT_EQ(api.Patch(kube::kPods, Key("a"), PatchType::kStrategicMerge, patch).status().code(),
            StatusCode::kInvalidArgument);
  const StatusOr<Json> resized = api.Patch(kube::kPods, Key("a"), PatchType::kStrategicMerge, patch, "resize");
  ASSERT_TRUE(resized.ok()) << ToString(resized.status());
  EXPECT_EQ((*resized)["spec"]["containers"][0]["resources"]["limits"]["cpu"], "2");
  EXPECT_EQ((*resized)["spec"]["containers"][0]["resources"]["requests"]["cpu"], "1");
  EXPECT_EQ((*resized)["spec"]["containers"][0]["image"], "x");
}

TEST_F(MemoryApiTest, ADeletedPodGoesAtOnceUnlessANodeRunsIt) {
  Created(kube::kPods, MakePod("free"));
  ASSERT_TRUE(api.Delete(kube::kPods, Key("free")).ok());
  EXPECT_EQ(CodeOfGet(kube::kPods, "free"), StatusCode::kNotFound);

  Created(kube::kPods, MakePod("bound"));
  ASSERT_TRUE(api.Bind(Key("bound"), "node").ok());
  ASSERT_TRUE(api.Delete(kube::kPods, Key("bound"), {.grace_period_seconds = 20}).ok());
  const Json going = Current(kube::kPods, "bound");
  EXPECT_EQ(kube::IntegerAt(going, {"metadata", "deletionGracePeriodSeconds"}), 20);
  EXPECT_EQ(kube::StringAt(going, {"metadata", "deletionTimestamp"}), "2023-11-14T22:13:40Z");
  ASSERT_TRUE(api.Delete(kube::kPods, Key("bound"), {.grace_period_seconds = 60}).ok());
  EXPECT_EQ(kube::IntegerAt(Current(kube::kPods, "bound"), {"metadata", "deletionGracePeriodSeconds"}), 20)
      << "never lengthened";
  ASSERT_TRUE(api.Delete(kube::kPods, Key("bound"), {.grace_period_seconds = 0}).ok());
  EXPECT_EQ(CodeOfGet(kube::kPods, "bound"), StatusCode::kNotFound);
}

TEST_F(MemoryApiTest, FinalizersHoldADeletedObjectUntilTheLastIsGone) {
  Json pod = MakePod("a");
  pod["metadata"]["finalizers"] = {"attune.dev/outcome"};
  Created(kube::kPods, pod);
  ASSERT_TRUE(api.Delete(kube::kPods, Key("a")).ok());
  EXPECT_TRUE(kube::IsBeingDeleted(Current(kube::kPods, "a")));
  const Json more = {{"metadata", {{"finalizers", {"attune.dev/outcome", "attune.dev/new"}}}}};
  EXPECT_EQ(api.Patch(kube::kPods, Key("a"), PatchType::kMerge, more).status().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(api.Patch(kube::kPods, Key("a"), PatchType::kMerge, {{"metadata", {{"finalizers", nullptr}}}}).ok());
  EXPECT_EQ(CodeOfGet(kube::kPods, "a"), StatusCode::kNotFound);
}

TEST_F(MemoryApiTest, RemovingTheFinalizerOfARunningPodWaitsForItsNode) {
  Json pod = MakePod("a");
  pod["metadata"]["finalizers"] = {"attune.dev/outcome"};
  Created(kube::kPods, pod);
  ASSERT_TRUE(api.Bind(Key("a"), "node").ok());
  ASSERT_TRUE(api.Delete(kube::kPods, Key("a")).ok());
  ASSERT_TRUE(api.Patch(kube::kPods, Key("a"), PatchType::kMerge, {{"metadata", {{"finalizers", nullptr}}}}).ok());
  EXPECT_EQ(CodeOfGet(kube::kPods, "a"), StatusCode::kOk);
  ASSERT_TRUE(api.Delete(kube::kPods, Key("a"), {.grace_period_seconds = 0}).ok());
  EXPECT_EQ(CodeOfGet(kube::kPods, "a"), StatusCode::kNotFound);
}

TEST_F(MemoryApiTest, DeletionPreconditionComparesUids) {
  Created(kube::kPods, MakePod("a"));
  EXPECT_EQ(api.Delete(kube::kPods, Key("a"), {.uid = "other"}).code(), StatusCode::kAborted);
  EXPECT_EQ(api.Delete(kube::kPods, Key("b")).code(), StatusCode::kNotFound);
}

TEST_F(MemoryApiTest, DependentsGoWithTheirOwner) {
  const Json job = Created(kube::kTrainingJobs, MakeJob("job"));
  Created(kube::kPods, OwnedBy(MakePod("owned"), job));
  Created(kube::kPods, MakePod("free"));
  ASSERT_TRUE(api.Delete(kube::kTrainingJobs, Key("job")).ok());
  EXPECT_EQ(CodeOfGet(kube::kPods, "owned"), StatusCode::kNotFound);
  EXPECT_EQ(CodeOfGet(kube::kPods, "free"), StatusCode::kOk);
  Created(kube::kPods, OwnedBy(MakePod("late"), job));
  EXPECT_EQ(CodeOfGet(kube::kPods, "late"), StatusCode::kNotFound) << "its owner is gone already";
}

TEST_F(MemoryApiTest, OrphansStayAndForegroundWaitsForDependents) {
  const Json a = Created(kube::kTrainingJobs, MakeJob("a"));
  Created(kube::kPods, OwnedBy(MakePod("orphan"), a));
  ASSERT_TRUE(api.Delete(kube::kTrainingJobs, Key("a"), {.propagation = "Orphan"}).ok());
  EXPECT_FALSE(Current(kube::kPods, "orphan")["metadata"].contains("ownerReferences"));

  const Json b = Created(kube::kTrainingJobs, MakeJob("b"));
  Json pod = OwnedBy(MakePod("held"), b);
  pod["metadata"]["finalizers"] = {"attune.dev/outcome"};
  Created(kube::kPods, pod);
  ASSERT_TRUE(api.Delete(kube::kTrainingJobs, Key("b"), {.propagation = "Foreground"}).ok());
  EXPECT_EQ(CodeOfGet(kube::kTrainingJobs, "b"), StatusCode::kOk);
  ASSERT_TRUE(api.Patch(kube::kPods, Key("held"), PatchType::kMerge, {{"metadata", {{"finalizers", nullptr}}}}).ok());
  EXPECT_EQ(CodeOfGet(kube::kTrainingJobs, "b"), StatusCode::kNotFound);
}

TEST_F(MemoryApiTest, ANamespaceTakesItsContentWithIt) {
  Json pod = MakePod("a");
  pod["metadata"]["namespace"] = "lab";
  pod["metadata"]["finalizers"] = {"attune.dev/outcome"};
  Created(kube::kPods, pod);
  ASSERT_TRUE(api.Get(kube::kNamespaces, {"", "lab"}).ok()) << "made when first used";
  ASSERT_TRUE(api.Delete(kube::kNamespaces, {"", "lab"}).ok());
  EXPECT_EQ(api.Get(kube::kNamespaces, {"", "lab"}).value()["status"]["phase"], "Terminating");
  pod["metadata"]["name"] = "b";
  EXPECT_EQ(api.Create(kube::kPods, pod).status().code(), StatusCode::kPermissionDenied);
  ASSERT_TRUE(api.Patch(kube::kPods, {"lab", "a"}, PatchType::kMerge, {{"metadata", {{"finalizers", nullptr}}}}).ok());
  EXPECT_EQ(api.Get(kube::kNamespaces, {"", "lab"}).status().code(), StatusCode::kNotFound);
}

TEST_F(MemoryApiTest, ListsSelectByNamespaceLabelAndField) {
  Created(kube::kPods, MakePod("a", {{"app", "x"}}));
  Created(kube::kPods, MakePod("b", {{"app", "y"}}));
  Json elsewhere = MakePod("c", {{"app", "x"}});
  elsewhere["metadata"]["namespace"] = "other";
  Created(kube::kPods, elsewhere);
  EXPECT_EQ(api.List(kube::kPods, {}).value().items.size(), 3u);
  EXPECT_EQ(api.List(kube::kPods, {.name_space = "default"}).value().items.size(), 2u);
  EXPECT_EQ(api.List(kube::kPods, {.label_selector = "app=x"}).value().items.size(), 2u);
  EXPECT_EQ(api.List(kube::kPods, {.field_selector = "metadata.name=b"}).value().items.size(), 1u);
  EXPECT_EQ(api.List(kube::kPods, {.label_selector = "app in (x"}).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(MemoryApiTest, OldEventsVanish) {
  Json event{{"metadata", {{"name", "e1"}, {"namespace", "default"}}}, {"reason", "Started"}};
  Created(kube::kEvents, event);
  time.Advance(std::chrono::minutes(61));
  event["metadata"]["name"] = "e2";
  Created(kube::kEvents, event);
  const auto events = api.List(kube::kEvents, {}).value().items;
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(kube::Name(events[0]), "e2");
}

TEST_F(MemoryApiTest, ABurstOfEventsDropsTheOldestAlsoWhereItHasChangedSince) {
  KindInfo few{.type = kube::kEvents};
  few.objects_max = 2;
  MemoryApi small(time, {.kinds = {few}, .own_thread = false});
  Json event{{"metadata", {{"namespace", "default"}}}, {"reason", "Started"}};
  for (const char* name : {"c", "a", "b"}) {
    event["metadata"]["name"] = name;
    ASSERT_TRUE(small.Create(kube::kEvents, event).ok());
    ASSERT_TRUE(small.Patch(kube::kEvents, Key(name), PatchType::kMerge, {{"count", 2}}).ok());
    time.Advance(std::chrono::seconds(1));
  }
  EXPECT_EQ(small.Get(kube::kEvents, Key("c")).status().code(), StatusCode::kNotFound);
  for (const char* name : {"a", "b"}) EXPECT_TRUE(small.Get(kube::kEvents, Key(name)).ok()) << name;
  ASSERT_TRUE(small.Delete(kube::kEvents, Key("a")).ok());
  event["metadata"]["name"] = "d";
  ASSERT_TRUE(small.Create(kube::kEvents, event).ok());
  EXPECT_TRUE(small.Get(kube::kEvents, Key("b")).ok()) << "there was room";
}

TEST_F(MemoryApiTest, TokensAreGoodForTheirAudiencePodAndTime) {
  const Json pod = Created(kube::kPods, MakePod("a"));
  const std::string token = api.IssueToken(Key("a"), {"attune.dev"}, time.WallNow() + std::chrono::hours(1)).value();
  const auto review = [&](const std::string& text, const std::string& audience) {
    return api.Create(kube::kTokenReviews, {{"spec", {{"token", text}, {"audiences", Json::array({audience})}}}})
        .value()["status"];
  };
  const Json good = review(token, "attune.dev");
  EXPECT_TRUE(good["authenticated"].get<bool>());
  EXPECT_EQ(good["user"]["extra"]["authentication.kubernetes.io/pod-name"], Json::array({"a"}));
  EXPECT_EQ(good["user"]["extra"]["authentication.kubernetes.io/pod-uid"], Json::array({pod["metadata"]["uid"]}));
  EXPECT_EQ(good["audiences"], Json::array({"attune.dev"}));
  EXPECT_FALSE(review(token, "other")["authenticated"].get<bool>());
  EXPECT_FALSE(review("forged", "attune.dev")["authenticated"].get<bool>());
  time.Advance(std::chrono::hours(2));
  EXPECT_FALSE(review(token, "attune.dev")["authenticated"].get<bool>());
  const std::string second = api.IssueToken(Key("a"), {"attune.dev"}, time.WallNow() + std::chrono::hours(1)).value();
  ASSERT_TRUE(api.Delete(kube::kPods, Key("a")).ok());
  EXPECT_FALSE(review(second, "attune.dev")["authenticated"].get<bool>());
}

TEST_F(MemoryApiTest, LimitsAreErrorsNotGrowth) {
  KindInfo small;
  small.type = {"", "v1", "configmaps", "ConfigMap"};
  small.objects_max = 1;
  MemoryApi bounded(time, {.kinds = {small}, .object_bytes_max = 400, .own_thread = false});
  Json object{{"metadata", {{"name", "a"}, {"namespace", "default"}}}};
  ASSERT_TRUE(bounded.Create(small.type, object).ok());
  object["metadata"]["name"] = "b";
  EXPECT_EQ(bounded.Create(small.type, object).status().code(), StatusCode::kResourceExhausted);
  object["data"]["x"] = std::string(500, 'x');
  EXPECT_EQ(bounded.Create(small.type, object).status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace attune::local::memory_api_test
