#include "operator/kube/object.h"

#include <gtest/gtest.h>

namespace attune::kube::object_test {
namespace {

TEST(Object, ReadsSharedFields) {
  Json pod =
      Json::parse(R"({"metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": 3,
    "labels": {"app": "x"}, "annotations": {"note": "y"}, "deletionTimestamp": "2026-01-01T00:00:00Z"}})");
  EXPECT_EQ(Name(pod), "a");
  EXPECT_EQ(Namespace(pod), "n");
  EXPECT_EQ(Uid(pod), "u");
  EXPECT_EQ(ResourceVersion(pod), "7");
  EXPECT_EQ(Generation(pod), 3);
  EXPECT_EQ(Label(pod, "app"), "x");
  EXPECT_EQ(Annotation(pod, "note"), "y");
  EXPECT_TRUE(IsBeingDeleted(pod));
  EXPECT_EQ(KeyOf(pod), (ObjectKey{"n", "a"}));
  EXPECT_EQ(KeyOf(pod).ToString(), "n/a");
}

TEST(Object, AbsentAndWronglyTypedFieldsReadAsEmpty) {
  for (const char* text :
       {"null", "3", "[]", "{}", R"({"metadata": null})", R"({"metadata": {"name": 3, "generation": "x",
       "labels": [], "annotations": {"note": 4}, "deletionTimestamp": null}})"}) {
    Json object = Json::parse(text);
    EXPECT_EQ(Name(object), "") << text;
    EXPECT_EQ(Generation(object), 0) << text;
    EXPECT_EQ(Label(object, "app"), "") << text;
    EXPECT_EQ(Annotation(object, "note"), "") << text;
    EXPECT_FALSE(IsBeingDeleted(object)) << text;
    EXPECT_TRUE(At(object, {"status", "podIP"}).is_null()) << text;
    EXPECT_EQ(IntegerAt(object, {"spec", "replicas"}, 5), 5) << text;
  }
}

TEST(Object, CoreAndGroupVersions) {
  EXPECT_EQ(kPods.api_version(), "v1");
  EXPECT_EQ(kTrainingJobs.api_version(), "attune.dev/v1alpha1");
}

}  // namespace
}  // namespace attune::kube::object_test
