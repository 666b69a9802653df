#include "operator/local/api/rules/patch.h"

#include <gtest/gtest.h>

namespace attune::local::patch_test {
namespace {

using kube::Json;
using kube::PatchType;

struct Case {
  std::string name;
  PatchType type;
  Json object, patch, want;
};

TEST(PatchTest, Tables) {
  const Json two = {{"containers", {{{"name", "a"}, {"image", "1"}}, {{"name", "b"}, {"image", "1"}}}}};
  const std::vector<Case> cases = {
      {"merge sets and removes",
       PatchType::kMerge,
       {{"a", 1}, {"b", 2}},
       {{"a", nullptr}, {"c", 3}},
       {{"b", 2}, {"c", 3}}},
      {"merge replaces lists", PatchType::kMerge, {{"l", {1, 2}}}, {{"l", {3}}}, {{"l", {3}}}},
      {"json patch operates on paths",
       PatchType::kJson,
       {{"a", {{"b", 1}}}},
       Json::array({{{"op", "replace"}, {"path", "/a/b"}, {"value", 2}}}),
       {{"a", {{"b", 2}}}}},
      {"strategic merges containers by name",
       PatchType::kStrategicMerge,
       two,
       {{"containers", Json::array({{{"name", "b"}, {"image", "2"}}})}},
       {{"containers", {{{"name", "a"}, {"image", "1"}}, {{"name", "b"}, {"image", "2"}}}}}},
      {"strategic appends a new item",
       PatchType::kStrategicMerge,
       {{"env", Json::array({{{"name", "A"}, {"value", "1"}}})}},
       {{"env", Json::array({{{"name", "B"}, {"value", "2"}}})}},
       {{"env", {{{"name", "A"}, {"value", "1"}}, {{"name", "B"}, {"value", "2"}}}}}},
      {"strategic deletes an item by directive",
       PatchType::kStrategicMerge,
       two,
       {{"containers", Json::array({{{"name", "a"}, {"$patch", "delete"}}})}},
       {{"containers", Json::array({{{"name", "b"}, {"image", "1"}}})}}},
      {"strategic replaces other lists",
       PatchType::kStrategicMerge,
       {{"args", {"a", "b"}}},
       {{"args", {"c"}}},
       {{"args", {"c"}}}},
      {"strategic unites finalizers",
       PatchType::kStrategicMerge,
       {{"finalizers", {"a"}}},
       {{"finalizers", {"b"}}},
       {{"finalizers", {"a", "b"}}}},
      {"strategic removes from a set",
       PatchType::kStrategicMerge,
       {{"finalizers", {"a", "b"}}},
       {{"$deleteFromPrimitiveList/finalizers", {"a"}}},
       {{"finalizers", {"b"}}}},
  };
  for (const Case& test : cases) {
    const StatusOr<Json> result = ApplyPatch(test.object, test.type, test.patch);
    ASSERT_TRUE(result.ok()) << test.name << ": " << ToString(result.status());
    EXPECT_EQ(*result, test.want) << test.name;
  }
}

TEST(PatchTest, BadPatchesAreInvalidArguments) {
  EXPECT_EQ(ApplyPatch({{"a", 1}}, PatchType::kJson, Json::array({{{"op", "test"}, {"path", "/a"}, {"value", 2}}}))
                .status()
                .code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(ApplyPatch({{"a", 1}}, PatchType::kJson, Json::object()).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ApplyPatch({{"a", 1}}, PatchType::kJson, Json::array({1})).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ApplyPatch({{"a", 1}}, PatchType::kMerge, Json::array()).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace attune::local::patch_test
