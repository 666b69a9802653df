#include "operator/kube/client/resource_path.h"

#include <gtest/gtest.h>

namespace attune::kube::resource_path_test {
namespace {

TEST(ResourcePath, CollectionsAndObjects) {
  EXPECT_EQ(CollectionPath(kPods, "n"), "/api/v1/namespaces/n/pods");
  EXPECT_EQ(CollectionPath(kPods, ""), "/api/v1/pods");
  EXPECT_EQ(CollectionPath(kNodes, ""), "/api/v1/nodes");
  EXPECT_EQ(CollectionPath(kTrainingJobs, "n"), "/apis/attune.dev/v1alpha1/namespaces/n/trainingjobs");
  EXPECT_EQ(*ObjectPath(kTrainingJobs, {"n", "a"}, "scale"),
            "/apis/attune.dev/v1alpha1/namespaces/n/trainingjobs/a/scale");
  EXPECT_EQ(*ObjectPath(kNodes, {"", "m"}), "/api/v1/nodes/m");
}

TEST(ResourcePath, NamesCannotLeaveTheirPlace) {
  EXPECT_EQ(*ObjectPath(kPods, {"n", "a/../../secrets?x#y"}),
            "/api/v1/namespaces/n/pods/a%2F..%2F..%2Fsecrets%3Fx%23y");
  for (const ObjectKey& key :
       {ObjectKey{"n", ""}, ObjectKey{"n", ".."}, ObjectKey{"n", "."}, ObjectKey{"", "a"}, ObjectKey{"..", "a"}}) {
    EXPECT_EQ(ObjectPath(kPods, key).status().code(), StatusCode::kInvalidArgument) << key.ToString();
  }
}

TEST(ResourcePath, QueriesAreEncodedAndEmptyValuesLeftOut) {
  EXPECT_EQ(ToString(Query{{"a", ""}}), "");
  EXPECT_EQ(ToString(Query{{"labelSelector", "a in (b, c)"}, {"continue", ""}, {"limit", "5"}}),
            "?labelSelector=a%20in%20%28b%2C%20c%29&limit=5");
}

}  // namespace
}  // namespace attune::kube::resource_path_test
