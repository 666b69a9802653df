// Server-side apply on the embedded API.
#include <gmock/gmock.h>

#include "operator/local/api/memory_api.h"
#include "operator/local/api/rules/field_set.h"
#include "tests/operator/local/objects.h"

namespace attune::local::memory_api_apply_test {
namespace {

using kube::PatchType;
using testing::Json;
using testing::Key;
using testing::MakeJob;
using testing::MakePod;

class ApplyTest : public ::testing::Test {
 protected:
  Json Applied(const Json& object, const std::string& manager, bool force = true, const std::string& subresource = "") {
    const StatusOr<Json> applied = api.Apply(kube::kTrainingJobs, object, {manager, force, subresource});
    EXPECT_TRUE(applied.ok()) << ToString(applied.status());
    return applied.ok() ? *applied : Json();
  }

  ManualTime time;
  MemoryApi api{time, {.own_thread = false}};
};

TEST_F(ApplyTest, CreatesThenChangesNothingWhenRepeated) {
  const Json first = Applied(MakeJob("a"), "one");
  EXPECT_EQ(kube::Generation(first), 1);
  time.Advance(std::chrono::hours(1));
  EXPECT_EQ(Applied(MakeJob("a"), "one"), first) << "same version, same times";
}

TEST_F(ApplyTest, DropsWhatTheManagerNoLongerStates) {
  Json job = MakeJob("a");
  job["metadata"]["labels"] = {{"keep", "1"}, {"drop", "1"}};
  Applied(job, "one");
  job["metadata"]["labels"] = {{"keep", "1"}};
  const Json after = Applied(job, "one");
  EXPECT_EQ(after["metadata"]["labels"], Json({{"keep", "1"}}));
}

TEST_F(ApplyTest, LeavesFieldsOfOthersAlone) {
  Applied(MakeJob("a"), "one");
  Json other = MakeJob("a");
  other["spec"] = {{"servers", {{"replicas", 3}}}};
  Applied(other, "two");
  const Json after = Applied(MakeJob("a", 4), "one");
  EXPECT_EQ(after["spec"]["servers"]["replicas"], 3);
  EXPECT_EQ(after["spec"]["workers"]["replicas"], 4);
}

TEST_F(ApplyTest, AFieldTwoManagersStateStaysUntilBothLetGo) {
  Json job = MakeJob("a");
  job["metadata"]["labels"] = {{"shared", "1"}};
  Applied(job, "one");
  Applied(job, "two");
  Json without = MakeJob("a");
  EXPECT_EQ(Applied(without, "one")["metadata"]["labels"]["shared"], "1");
  EXPECT_FALSE(Applied(without, "two")["metadata"].contains("labels"));
}

TEST_F(ApplyTest, AnotherValueForAnOwnedFieldIsAConflictUnlessForced) {
  Applied(MakeJob("a", 2), "one");
  const Status status = api.Apply(kube::kTrainingJobs, MakeJob("a", 3), {"two", false, ""}).status();
  EXPECT_EQ(status.code(), StatusCode::kAborted);
  EXPECT_THAT(std::string(Message(status)),
              ::testing::AllOf(::testing::HasSubstr(".spec.workers.replicas"), ::testing::HasSubstr("\"one\"")));
  EXPECT_EQ(Applied(MakeJob("a", 3), "two")["spec"]["workers"]["replicas"], 3);
  EXPECT_FALSE(api.Apply(kube::kTrainingJobs, MakeJob("a", 2), {"one", false, ""}).ok()) << "the field is two's now";
}

TEST_F(ApplyTest, APatchTakesItsFieldsFromTheApplier) {
  Applied(MakeJob("a", 2), "one");
  ASSERT_TRUE(api.Patch(kube::kTrainingJobs, Key("a"), PatchType::kMerge, {{"spec", {{"replicas", 5}}}}, "scale").ok());
  EXPECT_EQ(api.Apply(kube::kTrainingJobs, MakeJob("a", 2), {"one", false, ""}).status().code(), StatusCode::kAborted);
  Json without = MakeJob("a");
  without["spec"] = {{"servers", {{"replicas", 1}}}};
  EXPECT_EQ(Applied(without, "one")["spec"]["workers"]["replicas"], 5) << "what the patch owns stays";
}

TEST_F(ApplyTest, StatusIsAppliedApart) {
  Applied(MakeJob("a"), "one");
  Json status = MakeJob("a", 9);
  status["status"]["conditions"] =
      Json::array({{{"type", "Ready"}, {"status", "True"}}, {{"type", "Failed"}, {"status", "False"}}});
  Json after = Applied(status, "one", true, "status");
  EXPECT_EQ(after["spec"]["workers"]["replicas"], 2);
  EXPECT_EQ(after["status"]["conditions"].size(), 2u);
  status["status"]["conditions"] = Json::array({{{"type", "Ready"}, {"status", "False"}}});
  after = Applied(status, "one", true, "status");
  EXPECT_EQ(after["status"]["conditions"], status["status"]["conditions"]);
  EXPECT_EQ(Applied(MakeJob("a"), "one")["status"], after["status"]);
  EXPECT_EQ(api.Apply(kube::kTrainingJobs, MakeJob("b"), {"one", true, "status"}).status().code(),
            StatusCode::kNotFound);
}

TEST_F(ApplyTest, ContainersMergeByName) {
  ASSERT_TRUE(api.Apply(kube::kPods, MakePod("a"), {"one", true, ""}).ok());
  Json changed = MakePod("a");
  changed["spec"]["containers"] = Json::array({{{"name", "main"}, {"image", "y"}, {"command", {"true", "x"}}}});
  const StatusOr<Json> after = api.Apply(kube::kPods, changed, {"one", true, ""});
  ASSERT_TRUE(after.ok()) << ToString(after.status());
  ASSERT_EQ((*after)["spec"]["containers"].size(), 1u);
  EXPECT_EQ((*after)["spec"]["containers"][0]["image"], "y");
  EXPECT_EQ((*after)["spec"]["containers"][0]["imagePullPolicy"], "IfNotPresent") << "the server's default stays";
}

TEST_F(ApplyTest, FinalizersAreASet) {
  Json pod = MakePod("a");
  pod["metadata"]["finalizers"] = {"one.dev/x"};
  ASSERT_TRUE(api.Apply(kube::kPods, pod, {"one", true, ""}).ok());
  pod["metadata"]["finalizers"] = {"two.dev/x"};
  const Json both = api.Apply(kube::kPods, pod, {"two", true, ""}).value();
  EXPECT_EQ(both["metadata"]["finalizers"].size(), 2u);
  pod["metadata"].erase("finalizers");
  EXPECT_EQ(api.Apply(kube::kPods, pod, {"one", true, ""}).value()["metadata"]["finalizers"],
            Json::array({"two.dev/x"}));
}

TEST_F(ApplyTest, NeedsAManager) {
  EXPECT_EQ(api.Apply(kube::kTrainingJobs, MakeJob("a"), {}).status().code(), StatusCode::kInvalidArgument);
}

TEST(FieldSetTest, SurvivesTheWayThroughFieldsV1) {
  Json pod = MakePod("a", {{"app", "x"}});
  pod["metadata"]["finalizers"] = {"one.dev/x"};
  pod["spec"]["volumes"] = Json::array({{{"name", "v"}, {"emptyDir", Json::object()}}});
  const FieldSet fields = FieldsOf(pod);
  EXPECT_EQ(FromFieldsV1(ToFieldsV1(fields)), fields);
  EXPECT_THAT(fields, ::testing::Contains(FieldPath{"f:spec", "f:containers", "k:{\"name\":\"main\"}", "f:image"}));
  EXPECT_THAT(fields, ::testing::Contains(FieldPath{"f:metadata", "f:finalizers", "v:\"one.dev/x\""}));
  EXPECT_THAT(fields, ::testing::Not(::testing::Contains(FieldPath{"f:metadata", "f:name"})));
}

}  // namespace
}  // namespace attune::local::memory_api_apply_test
